--- Steps of a run in the quickfix list: a slice, the way from a cause to a failure, or what two runs differ in.

local M = {}

local function step_text(step)
  local value = step.value ~= '' and '  → ' .. step.value or ''
  local rounds = (step.rounds or 1) > 1 and '  (' .. step.rounds .. ' times)' or ''
  return vim.trim(step.why .. ' ' .. step.source) .. rounds .. value
end

local function add_steps(items, steps, depth)
  for _, step in ipairs(steps) do
    table.insert(items, {
      filename = vim.uri_to_fname(step.uri),
      lnum = step.line,
      col = step.range.start.character + 1,
      text = string.rep('  ', depth) .. step_text(step),
    })
    add_steps(items, step.steps, depth + 1)
  end
end

--- Show steps in the quickfix list: |:cnext| goes through them, |:copen| keeps them in sight.
function M.list(title, steps)
  local items = {}
  add_steps(items, steps, 0)
  vim.fn.setqflist({}, ' ', { title = title, items = items })
  vim.cmd('botright copen | wincmd p')
end

--- Show where a failing test and a run that passes part, or what makes the difference.
function M.compare(found)
  if not found then
    return
  end
  if #found.chain > 0 then
    M.list('What makes the difference for ' .. found.test, found.chain)
  elseif #found.report > 0 then
    local passing = found.passing ~= vim.NIL and found.passing
    local title = passing and found.test .. ' fails, ' .. passing .. ' passes: different decisions' or found.found
    M.list(title, found.report)
  end
end

return M
