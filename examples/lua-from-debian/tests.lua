-- Each section is a test of its own: prepare.py cuts this file at the lines that begin with "---".
-- check() prints and goes on, so that a failing test runs the same code as a passing one and no error handling.
--- arithmetic
check(7 // 2 == 3 and 7 % 3 == 1 and 2 ^ 10 == 1024 and 7 / 2 == 3.5)
--- arithmetic_negative
check(-7 // 2 == -4 and -7 % 3 == 2 and 7 % -3 == -2 and -2 ^ 2 == -4)
--- bitwise
check(5 & 3 == 1 and 5 | 3 == 7 and 5 ~ 3 == 6 and ~0 == -1 and 1 << 4 == 16 and 256 >> 4 == 16)
--- float_format
check(tostring(1e15) == "1e+15" and tostring(2^53) == "9.007199254741e+15" and 3.0 == 3)
--- integer_overflow
check(math.maxinteger + 1 == math.mininteger and math.mininteger // -1 == math.mininteger)
--- comparison
check(1 < 2 and "a" < "b" and not (2 <= 1) and "10" ~= 10 and 1 == 1.0)
--- concatenation
check("a" .. 1 .. 2.0 == "a12.0")
--- logic
local x = nil; check((x or 5) == 5 and (x and x.y) == nil and not x)
--- while_loop
local n, sum = 10, 0; while n > 0 do sum = sum + n; n = n - 1 end; check(sum == 55)
--- repeat_loop
local n = 0; repeat n = n + 1 until n >= 5; check(n == 5)
--- for_loop
local t = 0; for i = 10, 1, -3 do t = t + i end; check(t == 22)
--- for_float
local c = 0; for x = 0, 1, 0.25 do c = c + 1 end; check(c == 5)
--- goto_continue
local s = 0; for i = 1, 10 do if i % 2 == 0 then goto next end; s = s + i; ::next:: end; check(s == 25)
--- closures
local function counter() local n = 0; return function() n = n + 1; return n end end
local a, b = counter(), counter(); a(); a(); check(a() == 3 and b() == 1)
--- varargs
local function f(...) return select("#", ...), (select(2, ...)) end; check(f(1, nil, 3) == 3)
--- recursion
local function fib(n) if n < 2 then return n end; return fib(n - 1) + fib(n - 2) end; check(fib(15) == 610)
--- tail_calls
local function loop(n) if n == 0 then return "done" end; return loop(n - 1) end; check(loop(10000) == "done")
--- coroutine_yield
local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1); return b * 2 end)
check(co(1) == 2 and co(21) == 42)
--- coroutine_status
local co = coroutine.create(function() error("x") end)
check(coroutine.status(co) == "suspended" and not coroutine.resume(co) and coroutine.status(co) == "dead")
--- coroutine_generator
local function range(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local sum = 0; for i in range(10) do sum = sum + i end; check(sum == 55)
--- pcall_error
local ok, e = pcall(error, {code = 7}); check(not ok and e.code == 7)
--- xpcall_handler
local ok, m = xpcall(function() error("deep", 0) end, function(e) return "seen " .. e end); check(m == "seen deep")
--- runtime_error
local ok, e = pcall(function() local t = nil; return t.x end); check(not ok and e:find("attempt to index"))
--- assert_message
local ok, e = pcall(assert, false, "said"); check(e == "said")
--- load_string
check(load("return 1 + 1")() == 2 and load("return +") == nil)
--- load_environment
local env = {}; load("x = 3", "c", "t", env)(); check(env.x == 3 and x == nil)
--- string_format
check(string.format("%5d|%-5s|%05.1f|%q", 42, "ab", 3.14159, "a\nb") == '   42|ab   |003.1|"a\\\nb"')
--- string_find
check(("hello world"):find("o w") == 5 and ("a.b"):find(".", 1, true) == 2 and ("abc"):find("d") == nil)
--- string_gsub
check(("hello"):gsub("l", "L") == "heLLo" and ("abc"):gsub("%w", "%0%0") == "aabbcc")
--- string_gsub_table
check(("$a $b"):gsub("%$(%w)", {a = "1", b = "2"}) == "1 2")
--- string_gmatch
local t = {}; for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do t[k] = v end; check(t.a == "1" and t.b == "2")
--- string_captures
check(select(3, ("2024-05-06"):find("(%d+)-(%d+)")) == "2024" and ("[[x]]"):match("%b[]") == "[[x]]")
--- string_sub
check(("hello"):sub(2, -2) == "ell" and ("hello"):sub(-3) == "llo" and ("hi"):sub(5) == "")
--- string_rep
check(("ab"):rep(3, "-") == "ab-ab-ab" and ("x"):rep(0) == "")
--- string_case
check(("MiX"):upper() == "MIX" and ("MiX"):lower() == "mix" and ("abc"):reverse() == "cba")
--- string_bytes
check(("AB"):byte(1, -1) == 65 and string.char(72, 105) == "Hi" and #"\u{20AC}" == 3)
--- string_pack
check(string.unpack("<i4", string.pack("<i4", -2)) == -2 and string.packsize("i4i4") == 8)
--- string_tonumber
check(tonumber("0x10") == 16 and tonumber("z", 36) == 35 and tonumber("1e1") == 10.0 and tonumber("x") == nil)
--- utf8_codes
local t = {}; for p, c in utf8.codes("aé€") do t[#t + 1] = c end; check(t[2] == 233 and t[3] == 8364)
--- utf8_length
check(utf8.len("aé€") == 3 and utf8.offset("aé€", 3) == 4 and utf8.char(97, 8364) == "a€")
--- table_length
local t = {1, 2, 3}; t[#t + 1] = 4; check(#t == 4 and #{} == 0 and #{n = 1} == 0)
--- table_append
local t = {}; for i = 1, 100 do table.insert(t, i) end; check(#t == 100 and t[57] == 57)
--- table_insert_front
local t = {2, 3}; table.insert(t, 1, 1); check(table.concat(t, ",") == "1,2,3")
--- table_insert_middle
local t = {1, 2, 4, 5}; table.insert(t, 3, 3); check(table.concat(t, ",") == "1,2,3,4,5")
--- table_insert_end
local t = {1, 2}; table.insert(t, 3, 3); check(table.concat(t, ",") == "1,2,3")
--- table_insert_bad
check(not pcall(table.insert, {1}, 5, 0) and not pcall(table.insert, {}, 1, 2, 3))
--- table_remove
local t = {1, 2, 3}; check(table.remove(t, 1) == 1 and table.concat(t, ",") == "2,3" and table.remove(t) == 3)
--- table_concat
check(table.concat({1, 2, 3}, ", ", 2, 3) == "2, 3" and table.concat({}) == "")
--- table_sort
local t = {5, 2, 8, 1, 9, 3}; table.sort(t); check(table.concat(t) == "123589")
--- table_sort_order
local t = {"bb", "a", "ccc"}; table.sort(t, function(a, b) return #a > #b end); check(t[1] == "ccc" and t[3] == "a")
--- table_sort_many
local t = {}; for i = 1, 300 do t[i] = (i * 7919) % 1009 end; table.sort(t)
for i = 2, 300 do check(t[i - 1] <= t[i]) end
--- table_unpack
check(select("#", table.unpack({1, 2, nil, 4}, 1, 4)) == 4 and table.pack(1, nil).n == 2)
--- table_move
local t = table.move({1, 2, 3}, 1, 3, 2); check(table.concat(t, ",") == "1,1,2,3")
--- table_keys
local n = 0; for k, v in pairs({a = 1, b = 2, 3, [4.5] = 4}) do n = n + 1 end; check(n == 4)
--- table_next
local t = {x = 1}; check(next(t) == "x" and next(t, "x") == nil and next({}) == nil)
--- table_priority_queue
local queue = {}
local function push(v) local at = #queue + 1; while at > 1 and queue[at - 1] > v do at = at - 1 end; table.insert(queue, at, v) end
for _, v in ipairs({5, 1, 4, 2, 3}) do push(v) end; check(table.concat(queue, ",") == "1,2,3,4,5")
--- metatable_index
local base = {greet = function() return "hi" end}; local t = setmetatable({}, {__index = base}); check(t.greet() == "hi")
--- metatable_newindex
local log = {}; local t = setmetatable({}, {__newindex = function(t, k, v) rawset(log, k, v) end}); t.a = 1; check(log.a == 1 and t.a == nil)
--- metatable_arithmetic
local V = {}; V.__index = V; V.__add = function(a, b) return setmetatable({x = a.x + b.x}, V) end
V.__eq = function(a, b) return a.x == b.x end; V.__lt = function(a, b) return a.x < b.x end
local a, b = setmetatable({x = 1}, V), setmetatable({x = 2}, V); check((a + b).x == 3 and a < b and a ~= b)
--- metatable_call
local t = setmetatable({}, {__call = function(self, x) return x * 2 end, __len = function() return 9 end}); check(t(4) == 8 and #t == 9)
--- metatable_tostring
check(tostring(setmetatable({}, {__tostring = function() return "me" end})) == "me")
--- metatable_close
local closed = {}; do local x <close> = setmetatable({}, {__close = function() closed[1] = true end}) end; check(closed[1])
--- inheritance
local Animal = {}; Animal.__index = Animal; function Animal.new(n) return setmetatable({name = n}, Animal) end
function Animal:speak() return self.name .. "!" end; check(Animal.new("cat"):speak() == "cat!")
--- garbage_collection
local weak = setmetatable({}, {__mode = "k"}); weak[{}] = 1; collectgarbage(); check(next(weak) == nil)
--- garbage_generational
collectgarbage("generational"); for i = 1, 200 do local t = {{}, {}} end; collectgarbage("incremental"); check(collectgarbage("count") > 0)
--- finalizers
local done = false; setmetatable({}, {__gc = function() done = true end}); collectgarbage(); check(done)
--- math_functions
check(math.floor(-3.5) == -4 and math.ceil(3.2) == 4 and math.max(1, 5, 3) == 5 and math.abs(-2) == 2)
--- math_types
check(math.type(1) == "integer" and math.type(1.0) == "float" and math.tointeger(3.0) == 3 and math.ult(1, -1))
--- math_random
math.randomseed(42); local a = math.random(10); check(a >= 1 and a <= 10 and math.random() < 1)
--- math_fmod
check(math.fmod(-7, 3) == -1 and math.sqrt(16) == 4 and math.pi > 3.14)
--- os_time
check(os.time({year = 2020, month = 1, day = 1, hour = 12}) > 0 and os.date("!%Y", 0) == "1970")
--- io_write
local name = os.tmpname(); local f = io.open(name, "w"); f:write("a\n", 2, "\n"); f:close()
local t = {}; for line in io.lines(name) do t[#t + 1] = line end; os.remove(name); check(t[1] == "a" and t[2] == "2")
--- debug_info
local info = debug.getinfo(1, "Sl"); check(info.currentline == 1 and info.what == "main")
--- debug_traceback
check(debug.traceback("m"):find("stack traceback"))
--- string_dump
local f = load(string.dump(function(x) return x + 1 end)); check(f(1) == 2)
--- large_constants
local t = {}; for i = 1, 300 do t[i] = "k" .. i end; check(#t == 300 and t[300] == "k300")
--- multiple_assignment
local a, b, c = 1, 2; a, b = b, a; check(a == 2 and b == 1 and c == nil)
--- integer_division_by_zero
check(not pcall(function() return 1 // 0 end) and 1 / 0 == math.huge)
--- integer_for_overflow
local n = 0; for i = math.maxinteger - 1, math.maxinteger do n = n + 1 end; check(n == 2)
--- long_strings
check([[a
b]] == "a\nb" and "\x41\65\z
   B" == "AAB")
