--- Where the program `suspectra` is.

local M = {}

--- On the PATH, or where package managers inside of Neovim put programs; nil where it is in neither.
--- Never in the workspace: opening a folder must not start a program of it.
function M.path()
  for _, program in ipairs({ 'suspectra', vim.fn.stdpath('data') .. '/mason/bin/suspectra' }) do
    local found = vim.fn.exepath(program)
    if found ~= '' then
      return found
    end
  end
end

return M
