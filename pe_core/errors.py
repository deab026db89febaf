"""The errors that users meet."""


class InputError(ValueError):
    """Input that cannot be used. The message says where, what was found and what is allowed."""


class AccuracyError(ArithmeticError):
    """A computation could not meet its stated error bound, and no value is guessed."""
