--- The server for Neovim 0.11 and newer: with this folder on the 'runtimepath', `vim.lsp.enable('suspectra')` starts it.

return {
  cmd = { require('suspectra.program').path() or 'suspectra', 'server' },
  filetypes = { 'python', 'c', 'cpp' },
  root_markers = { '.suspectra', 'pyproject.toml', 'setup.py', 'CMakeLists.txt', 'meson.build', '.git' },
}
