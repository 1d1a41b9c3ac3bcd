--- Suspectra for Neovim 0.7 and newer: signs with ranks, a command, and lists to choose from.
---
--- It uses the language server that runs under the name `suspectra`; docs/guide/editors/neovim.md says how to start it.
--- Diagnostics, hovers and code actions work without this module. `:help suspectra`, `:checkhealth suspectra`.

local dimming = require('suspectra.dimming')
local list_steps = require('suspectra.steps').list

local M = {}

local GROUP = 'suspectra'
local REFRESH_DEBOUNCE_MS = 100 -- how long there must be no new diagnostics before the signs are drawn

local levels = { high = 'SuspectraHigh', medium = 'SuspectraMedium', low = 'SuspectraLow' }

--- The servers that run: one for each project that is open.
function M.clients()
  local running = vim.lsp.get_clients and vim.lsp.get_clients() or vim.lsp.get_active_clients()
  return vim.tbl_filter(function(one)
    return one.name == 'suspectra'
  end, running)
end

--- The server of the current buffer, or else any.
local function client()
  local running = M.clients()
  for _, one in ipairs(running) do
    if vim.lsp.buf_is_attached(0, one.id) then
      return one
    end
  end
  return running[1]
end

local function notify(text, level)
  vim.notify('Suspectra: ' .. text, level or vim.log.levels.INFO)
end

--- Whether the request was sent: a server that has stopped takes none.
local function request(server, method, params, answered)
  if vim.fn.has('nvim-0.11') == 1 then
    return (server:request(method, params, answered))
  end
  return (server.request(method, params, answered))
end

--- Send a request; `done` is called with the result. Errors are shown.
local function ask(method, params, done)
  local server = client()
  if not server then
    return notify('the server is not running here', vim.log.levels.WARN)
  end
  local sent = request(server, method, params, function(problem, result)
    if problem then
      notify(problem.message, vim.log.levels.ERROR)
    else
      done(result ~= vim.NIL and result or nil)
    end
  end)
  if not sent then
    notify('the server has stopped; open the file again to start it', vim.log.levels.WARN)
  end
end

local function command(name, arguments, done)
  ask('workspace/executeCommand', { command = 'suspectra.server.' .. name, arguments = arguments }, done or function() end)
end

--- Show two texts beside each other, as a diff in a new tab, if there are any.
local function show_beside(found)
  if found then
    require('suspectra.runs').show(found)
    notify(found.heading)
  end
end

local function cursor()
  local server = client()
  local params = vim.lsp.util.make_position_params(0, server and server.offset_encoding or 'utf-16')
  return { uri = params.textDocument.uri, position = params.position }
end

--- Go to a location, and add the present one to the jump list: CTRL-O leads back.
local function go(location)
  local file, line = vim.uri_to_fname(location.uri), location.range.start.line + 1
  if vim.api.nvim_buf_get_name(0) == file and vim.api.nvim_win_get_cursor(0)[1] == line then
    return -- the server has already asked Neovim to show it, where Neovim supports that
  end
  vim.cmd("normal! m'")
  local buffer = vim.uri_to_bufnr(location.uri)
  vim.bo[buffer].buflisted = true
  vim.api.nvim_win_set_buf(0, buffer)
  vim.api.nvim_win_set_cursor(0, { math.min(line, vim.api.nvim_buf_line_count(buffer)), 0 })
  vim.cmd('normal! ^zv')
end

local function step(name, ...)
  command(name, { ... }, function(location)
    return location and go(location) -- if there is none, the server says why
  end)
end

local function where(location)
  return location.file .. ':' .. location.line
end

function M.next()
  step('nextSuspect', cursor())
end

function M.previous()
  step('previousSuspect', cursor())
end

function M.first()
  step('firstSuspect')
end

function M.back()
  step('back')
end

--- Choose among all suspects.
function M.suspects()
  ask('suspectra/suspects', { limit = 1000 }, function(report)
    if #report.suspects == 0 then
      return notify('there are no suspects')
    end
    vim.ui.select(report.suspects, {
      prompt = report.title .. ': ' .. report.failed .. ' failed, ' .. report.passed .. ' passed',
      kind = 'suspectra',
      format_item = function(suspect)
        local name = suspect['function'] ~= '' and suspect['function'] or '(module level)'
        local changed = suspect.changed > 0 and ', changed' or ''
        local done = suspect.examined and ', examined' or ''
        local place = name .. '  ' .. where(suspect)
        return string.format('%d  %s  %.3g%s%s', suspect.functionRank, place, suspect.score, changed, done)
      end,
    }, function(chosen)
      return chosen and go(chosen)
    end)
  end)
end

--- Choose where to look next, by the debugging model, most likely first.
function M.jump()
  local current = cursor()
  command('jump', { current, { ask = false } }, function(found)
    if not found or #found.moves == 0 then
      return notify('there is nowhere to go from here')
    end
    vim.ui.select(found.moves, {
      prompt = 'From ' .. where(found.origin) .. ' to',
      kind = 'suspectra',
      format_item = function(move)
        local why = table.concat(move.reasons, ', ')
        return string.format('%3.0f %%  %s  %s  (%s)', 100 * move.probability, where(move), vim.trim(move.source), why)
      end,
    }, function(move)
      if move then
        local to = { uri = move.uri, line = move.range.start.line }
        command('jump', { current, { ask = false, to = to } }, function(result)
          if result and result.chosen then
            go(result.chosen)
          else
            notify('this line was edited since the tests ran')
          end
        end)
      end
    end)
  end)
end

--- Choose the technique that ranks the suspects.
function M.technique()
  ask('suspectra/techniques', vim.empty_dict(), function(techniques)
    vim.ui.select(techniques, {
      prompt = 'Rank the suspects with',
      kind = 'suspectra',
      format_item = function(technique)
        return technique.title .. '  ' .. technique.paper
      end,
    }, function(technique)
      return technique and command('selectTechnique', { technique.name })
    end)
  end)
end

--- Choose the failure group whose suspects are shown.
function M.group()
  ask('suspectra/suspects', { limit = 0 }, function(report)
    local groups = vim.tbl_filter(function(group) return type(group.id) == 'number' end, report.groups)
    if #groups == 0 then
      return notify(report.failed > 0 and 'all failing tests probably share a fault' or 'no recorded test fails')
    end
    vim.ui.select(groups, {
      prompt = 'Show the suspects of',
      kind = 'suspectra',
      format_item = function(group)
        return group.heading .. (group.current and ' (current)' or '')
      end,
    }, function(group)
      return group and command('selectGroup', { group.folder, group.id })
    end)
  end)
end

--- Merge another failure group with the current one; the server asks which.
function M.merge()
  command('mergeGroups', {})
end

--- Split a test off the current failure group; the server asks which.
function M.split()
  command('splitGroup', {})
end

--- Forget what was merged and split.
function M.ungroup()
  command('resetGroups', {}) -- the server says whether there was something
end

--- Why the line under the cursor is suspected, in a window beside it.
function M.explain()
  local current = cursor()
  ask('suspectra/explanation', { uri = current.uri, line = current.position.line, limit = 10 }, function(found)
    if not found then return notify('this line is not a suspect') end
    local lines = vim.list_extend({ found.headline }, found.sentences)
    vim.list_extend(lines, #found.failing > 0 and { '', 'Failing tests that execute it:' } or {})
    for _, test in ipairs(found.failing) do
      table.insert(lines, '  ' .. test.name .. (test.message ~= '' and ': ' .. test.message or ''))
    end
    vim.list_extend(lines, { '', ':Suspectra why · debug · fix · next' })
    if found.formula ~= '' then
      vim.list_extend(lines, { '', 'How this is computed:', '  ' .. found.formula, '  ' .. found.substituted })
    end
    vim.lsp.util.open_floating_preview(lines, 'plaintext', { focus_id = 'suspectra', max_width = 100 })
  end)
end

local function mark(name, word)
  return function()
    local current = cursor()
    command(name, { current.uri, current.position.line }, function(marked)
      notify(marked and 'line ' .. current.position.line + 1 .. ' is marked as ' .. word or 'this line is not a suspect')
    end)
  end
end

M.examined = mark('markExamined', 'examined')
M.innocent = mark('markInnocent', 'innocent')

function M.clear()
  command('clearExamined', {}, function(there)
    notify(there and 'all suspects are shown again' or 'no line is marked as examined or innocent')
  end)
end

--- Run the tests and rank; the server shows the outcome.
function M.run()
  command('runTests', {}, function()
    notify('the tests are running')
  end)
end

--- Stop the tests, altered or not.
function M.cancel()
  command('cancelTests', {}, function(running)
    if not running then
      command('cancelInvestigation', {}, function(altered)
        return altered or notify('no tests are running')
      end)
    end
  end)
end

--- Find out what would make failing tests pass: the test under the cursor, or else those of the current group.
function M.investigate()
  command('investigate', { vim.NIL, vim.NIL, cursor() })
end

local answer_window -- the last window with an answer

--- Show an answer in a window, in place of what was known of it before. `doing` is what the server does to find out more.
local function show_answer(answer, doing)
  if answer_window and vim.api.nvim_win_is_valid(answer_window) then
    vim.api.nvim_win_close(answer_window, true)
  end
  local lines = vim.split(answer.markdown, '\n')
  if doing then
    vim.list_extend(lines, { '', 'Still finding out more. ' .. doing .. '…' })
  end
  local _, window = vim.lsp.util.open_floating_preview(lines, 'markdown', { border = 'rounded', max_width = 100 })
  answer_window = window
end

--- What is known so far; not once the user has closed its window.
vim.lsp.handlers['suspectra/answerSoFar'] = function(_, found)
  local is_first = answer_window == nil
  if is_first or vim.api.nvim_win_is_valid(answer_window) then
    show_answer(found.answer, found.doing)
  end
end

--- Say why failing tests fail, in one answer in a window: the test under the cursor, or those of the current group. What
--- is known by now comes first, and is replaced when more is.
function M.why()
  answer_window = nil
  command('why', { vim.NIL, vim.NIL, cursor(), { show = false, soFar = true } }, function(found)
    if found then
      show_answer(found)
    end
  end)
end

--- Search changes with which failing tests pass and no other one fails; each is shown, and applied if you say so.
function M.fix()
  command('findFix', { vim.NIL, vim.NIL, cursor() })
end

--- Show the values of the failing run at the ends of its lines, as inlay hints, or hide them again.
function M.trace()
  command('showValues', { vim.NIL, vim.NIL, cursor() }, function(found)
    if found and vim.lsp.inlay_hint then
      vim.lsp.inlay_hint.enable(true)
    elseif found then
      notify('inlay hints need Neovim 0.10 or newer; `:Suspectra led` lists values in the quickfix list')
    end
  end)
end

--- Take back the change on this line that broke tests.
function M.undo()
  local current = cursor()
  command('undoChange', { current.uri, current.position.line })
end

--- Find out which change broke failing tests: the test under the cursor, or else those of the current group.
function M.change()
  command('findChange', { vim.NIL, vim.NIL, cursor() })
end

--- Show the file with the change on this line that broke tests and without it, as a diff in a new tab.
function M.difference()
  local current = cursor()
  command('showDifference', { current.uri, current.position.line }, show_beside)
end

--- Compare the values of failing tests with those of passing ones: the test under the cursor, or those of the group.
function M.values()
  command('compareValues', { vim.NIL, vim.NIL, cursor() })
end

--- Find out whether the line under the cursor, altered, makes failing tests pass.
function M.try()
  local current = cursor()
  command('testSuspect', { current.uri, current.position.line })
end

--- Say how to debug a failing test that executes the line under the cursor; the server names the command.
function M.debug()
  local current = cursor()
  command('debugHere', { current.uri, current.position.line })
end

--- Show all code again.
function M.undim()
  return dimming.clear() or notify('no code is dimmed')
end

local function slice(name)
  return function()
    local current = cursor()
    command(name, { current.uri, current.position.line, vim.NIL, { show = false } }, function(found)
      if found then
        dimming.dim(found.files)
        list_steps(found.heading, found.steps)
        for _, sentence in ipairs(found.leftOut) do
          notify(sentence)
        end
      end
    end)
  end
end

--- What led to the line under the cursor, or to the failure: in the quickfix list, with other code dimmed.
M.led = slice('whatLedHere')

--- What the line under the cursor influenced.
M.influenced = slice('whatThisInfluenced')

--- Search for the cause of the failure under the cursor; then the way from there to the failure is in the quickfix list.
function M.cause()
  command('findCause', { vim.NIL, vim.NIL, cursor() }, function(found)
    if found and #found.roots > 0 then
      list_steps('From the probable cause to the failure of ' .. found.test, #found.chain > 0 and found.chain or found.roots)
    end
  end)
end

--- Find a run that passes and goes nearly the same way as the failing test under the cursor: the decisions that came out
--- differently are in the quickfix list, or the chain of what makes the difference.
--- @param technique string|nil one of those of |suspectra/techniques|; the nearest passing test if there is none
function M.compare(technique)
  command('comparePassing', { vim.NIL, vim.NIL, cursor(), technique or vim.NIL }, require('suspectra.steps').compare)
end

--- Choose how to search for the run that passes.
function M.compareby()
  ask('suspectra/techniques', { ['for'] = 'paths' }, function(techniques)
    vim.ui.select(techniques, {
      prompt = 'Compare the failing test with',
      kind = 'suspectra',
      format_item = function(technique)
        return technique.title .. '  ' .. technique.description
      end,
    }, function(technique)
      return technique and M.compare(technique.name)
    end)
  end)
end

--- Show what the failing and the passing test execute beside each other, as a diff in a new tab.
function M.runs()
  command('compareRuns', { vim.NIL, vim.NIL, cursor() }, show_beside)
end

--- Forget what was compared.
function M.forget()
  command('clearComparison', {}, function(there)
    notify(there and 'the comparison is forgotten' or 'no runs were compared')
  end)
end

--- Rank again now.
function M.localize()
  command('localize', {})
end

local function place_signs(suspects)
  local buffers = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then
      buffers[vim.api.nvim_buf_get_name(buffer)] = buffer
    end
  end
  for _, suspect in ipairs(suspects) do
    local buffer = buffers[vim.uri_to_fname(suspect.uri)]
    if buffer and not suspect.examined then
      local text = suspect.functionRank < 100 and tostring(suspect.functionRank) or '>>'
      local name = levels[suspect.suspicion] .. text
      vim.fn.sign_define(name, { text = text, texthl = levels[suspect.suspicion] })
      vim.fn.sign_place(0, GROUP, name, buffer, { lnum = suspect.line, priority = 20 })
    end
  end
end

--- Draw the ranks of the functions in the sign column of every loaded buffer.
function M.draw()
  local running, suspects = M.clients(), {}
  local missing = #running
  if missing == 0 then
    vim.fn.sign_unplace(GROUP)
  end
  for _, server in ipairs(running) do
    request(server, 'suspectra/suspects', { limit = 1000 }, function(_, report)
      vim.list_extend(suspects, report and report.suspects or {})
      missing = missing - 1
      if missing == 0 then
        vim.fn.sign_unplace(GROUP)
        place_signs(suspects)
      end
    end)
  end
end

local function refresh_lenses()
  local server = client()
  if not (server and vim.lsp.buf_is_attached(0, server.id)) then
    return
  end
  local marks = vim.diagnostic.get(0, { namespace = vim.lsp.diagnostic.get_namespace(server.id) })
  if #marks == 0 then -- Neovim does not remove the last lenses by itself
    vim.api.nvim_buf_clear_namespace(0, vim.api.nvim_create_namespace('vim_lsp_codelens:' .. server.id), 0, -1)
  end
  vim.lsp.codelens.refresh()
end

local wanted = {}

--- Show signs and lenses, as far as they are set up; Neovim 0.12 refreshes lenses by itself.
function M.refresh()
  if wanted.signs then
    M.draw()
  end
  if wanted.lenses and vim.fn.has('nvim-0.12') == 0 then
    refresh_lenses()
  end
end

local waiting

local function refresh_soon()
  if waiting then
    waiting:stop()
    waiting:close()
  end
  waiting = vim.defer_fn(function()
    waiting = nil
    M.refresh()
  end, REFRESH_DEBOUNCE_MS)
end

local verbs = {
  'next', 'previous', 'first', 'back', 'jump', 'suspects', 'explain', 'examined', 'innocent', 'clear', 'technique',
  'run', 'cancel', 'localize', 'why', 'fix', 'trace', 'investigate', 'try', 'change', 'difference', 'undo', 'values', 'debug', 'cause', 'led', 'influenced', 'undim',
  'compare', 'compareby', 'runs', 'forget',
  'group', 'merge', 'split', 'ungroup',
}

--- Set everything up.
--- @param options table|nil
---   signs: false for none;
---   lenses: true to show code lenses and keep them current;
---   keys: keys by verb, such as { next = ']u', previous = '[u' }; none by default.
function M.setup(options)
  options = options or {}
  for level, link in pairs({ High = 'DiagnosticWarn', Medium = 'DiagnosticInfo', Low = 'DiagnosticHint' }) do
    vim.cmd('highlight default link Suspectra' .. level .. ' ' .. link)
  end
  vim.cmd('highlight default link SuspectraDimmed Comment')
  vim.api.nvim_create_user_command('Suspectra', function(given)
    if vim.tbl_contains(verbs, given.args) then
      M[given.args]()
    else
      notify('there is no "' .. given.args .. '"; there are ' .. table.concat(verbs, ', '), vim.log.levels.ERROR)
    end
  end, {
    nargs = 1,
    desc = 'Suspectra: go through the suspects',
    complete = function(start)
      return vim.tbl_filter(function(verb)
        return vim.startswith(verb, start)
      end, verbs)
    end,
  })
  for verb, keys in pairs(options.keys or {}) do
    assert(vim.tbl_contains(verbs, verb), 'suspectra: keys for "' .. verb .. '", which is not a verb')
    vim.keymap.set('n', keys, M[verb], { desc = 'Suspectra: ' .. verb })
  end
  wanted = { signs = options.signs ~= false, lenses = options.lenses }
  if wanted.lenses and vim.fn.has('nvim-0.12') == 1 then
    vim.lsp.codelens.enable(true)
  end
  local group = vim.api.nvim_create_augroup(GROUP, {})
  vim.api.nvim_create_autocmd({ 'DiagnosticChanged', 'BufWinEnter' }, { group = group, callback = refresh_soon })
  refresh_soon()
end

return M
