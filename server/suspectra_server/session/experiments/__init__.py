"""Running failing tests again, when the user asks for it."""
