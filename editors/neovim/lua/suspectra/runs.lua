--- A failing and a passing run beside each other: the lines that both execute, as a diff.

local M = {}

local function show_run(run)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split((run.text:gsub('\n$', '')), '\n'))
  vim.api.nvim_buf_set_name(buffer, 'suspectra://' .. buffer .. '/' .. run.title)
  vim.bo[buffer].filetype = 'python'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modifiable = false
  vim.api.nvim_win_set_buf(0, buffer)
  vim.cmd('diffthis')
end

--- Open a tab with both.
--- @param found table what the server's command `compareRuns` returns
function M.show(found)
  vim.cmd('tabnew')
  show_run(found.failing)
  vim.cmd('rightbelow vsplit')
  show_run(found.passing)
  local line = math.min(found.line + 1, vim.api.nvim_buf_line_count(0))
  vim.api.nvim_win_set_cursor(0, { line, 0 })
end

return M
