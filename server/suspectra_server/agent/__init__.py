"""What coding agents can ask, and how the answers are made; for every way in which they ask.

There is one set of tools: the manifest of the VS Code extension is generated from `tools.py`, and a test compares it
with the schemas that `suspectra mcp` makes from types. Answers come from one class, given a ranking that was made for
the question (MCP) or was there already (the language server).
"""
