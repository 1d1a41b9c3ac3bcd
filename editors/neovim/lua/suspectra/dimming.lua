--- Code that is not in a slice is dimmed.

local M = {}

local DIMMED = vim.api.nvim_create_namespace('suspectra-dimmed')

--- Show all code again; true if some was dimmed.
function M.clear()
  local there = false
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    there = there or #vim.api.nvim_buf_get_extmarks(buffer, DIMMED, 0, -1, { limit = 1 }) > 0
    vim.api.nvim_buf_clear_namespace(buffer, DIMMED, 0, -1)
  end
  return there
end

--- Dim the lines of loaded buffers that are not in a slice, in files that are.
function M.dim(files)
  M.clear()
  for _, file in ipairs(files) do
    local buffer, inside = vim.fn.bufnr(vim.uri_to_fname(file.uri)), {}
    for _, line in ipairs(file.lines) do
      inside[line] = true
    end
    if buffer > 0 and vim.api.nvim_buf_is_loaded(buffer) then
      for line = 0, vim.api.nvim_buf_line_count(buffer) - 1 do
        if not inside[line] then
          local ends = { end_row = line + 1, end_col = 0, hl_group = 'SuspectraDimmed', hl_eol = true, strict = false }
          vim.api.nvim_buf_set_extmark(buffer, DIMMED, line, 0, ends)
        end
      end
    end
  end
end

return M
