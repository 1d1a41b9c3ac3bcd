--- `:checkhealth suspectra`: whether the program and the server work, and how to fix them.

local program = require('suspectra.program')

local M = {}

local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local warn = health.warn or health.report_warn
local fail = health.error or health.report_error

local TIMEOUT_MS = 5000 -- for an answer of the server
local INSTALL = 'Activate the environment it is installed in before you start Neovim, or use its full path in `cmd`'

local function check_program()
  local found = program.path()
  if not found then
    return warn('`suspectra` is not on the PATH', { INSTALL, 'To install it, in a clone of Suspectra: python -m pip install ./analysis .' })
  end
  local version = vim.trim(vim.fn.system({ found, '--version' }))
  if vim.v.shell_error == 0 then
    ok(version .. ' (' .. found .. ')')
  else
    fail(found .. ' does not start: ' .. version, { 'Install it again, in a clone of Suspectra: python -m pip install --force-reinstall ./analysis .' })
  end
end

local function ask(client, method, params)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:request_sync(method, params, TIMEOUT_MS, 0)
  end
  return client.request_sync(method, params, TIMEOUT_MS, 0)
end

local function check_server(client)
  local root = client.config.root_dir or 'no folder'
  local answer = ask(client, 'suspectra/suspects', { limit = 1000 })
  local report = answer and answer.result
  if not report then
    return fail('the server for ' .. root .. ' does not answer', { 'Its log is ' .. vim.lsp.get_log_path() })
  end
  if report.state == 'noEvidence' then
    return warn(root .. ': no test run is recorded', { ':Suspectra run', 'or in a terminal: suspectra record -- pytest' })
  end
  local text = '%s: %d failed, %d passed, %d suspects, ranked with %s'
  ok(string.format(text, root, report.failed, report.passed, #report.suspects, report.title))
  for _, problem in ipairs(report.problems) do
    warn(problem.file .. ': ' .. problem.cause, { problem.cure })
  end
end

function M.check()
  start('Suspectra')
  if vim.fn.has('nvim-0.7') == 0 then
    return fail('Neovim is older than 0.7', { 'Install a newer one' })
  end
  check_program()
  local clients = require('suspectra').clients()
  if #clients == 0 then
    local cure = "Call vim.lsp.enable('suspectra') (before 0.11: see docs/guide/editors/neovim.md), and open a source"
    warn('no server runs', { cure })
  end
  for _, client in ipairs(clients) do
    check_server(client)
  end
end

return M
