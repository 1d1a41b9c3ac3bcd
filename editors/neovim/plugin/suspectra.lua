-- `:Suspectra` exists without `setup`, and loads the module when it is first used.

if vim.fn.has('nvim-0.7') == 0 or vim.fn.exists(':Suspectra') == 2 then
  return
end

local function load()
  require('suspectra').setup({ signs = false }) -- which replaces the command
end

vim.api.nvim_create_user_command('Suspectra', function(given)
  load()
  vim.cmd('Suspectra ' .. given.args)
end, {
  nargs = 1,
  desc = 'Suspectra: go through the suspects',
  complete = function(start)
    load()
    return vim.fn.getcompletion('Suspectra ' .. start, 'cmdline')
  end,
})
