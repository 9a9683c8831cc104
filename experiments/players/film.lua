-- Plays one film in mpv, which was started with --idle, and says when its first frame was shown and how it stalled.
--
--   mpv --idle=yes --script=film.lua --script-opts=film-path=FILE,film-seconds=30 …
--
-- Times are those since the film was opened, so that the start of mpv itself is not among them. Lines: "first SECONDS",
-- and "stalls COUNT longest SECONDS" after so many seconds, or once the file film-stop exists; or "failed REASON".

local options = { path = "", seconds = 30, stop = "" }
require("mp.options").read_options(options, "film")

-- Seconds to wait for the first frame.
local PATIENCE = 120

local opened, first, stalled, ended
local stalls, longest = 0, 0

local function say(...)
    io.stdout:write(string.format(...), "\n")
    io.stdout:flush()
end

local function fail(reason)
    ended = true
    say("failed %s", reason)
    mp.commandv("quit", "1")
end

local function end_stall()
    if stalled then
        stalls = stalls + 1
        longest = math.max(longest, mp.get_time() - stalled)
        stalled = nil
    end
end

local function finish()
    ended = true
    end_stall()
    say("stalls %d longest %.3f", stalls, longest)
    mp.commandv("quit")
end

mp.observe_property("paused-for-cache", "bool", function(_, paused)
    if not first then
        return
    elseif paused then
        stalled = stalled or mp.get_time()
    else
        end_stall()
    end
end)

mp.register_event("playback-restart", function()
    if opened and not first then
        first = mp.get_time()
        say("first %.3f", first - opened)
        mp.add_timeout(options.seconds, finish)
    end
end)

mp.register_event("end-file", function(event)
    if ended then
        return
    elseif first and event.reason == "quit" then
        finish()
    else
        fail(event.reason or "end of the film")
    end
end)

-- A signal would end mpv before it said anything.
if options.stop ~= "" then
    mp.add_periodic_timer(0.1, function()
        local stop = first and not ended and io.open(options.stop)
        if stop then
            stop:close()
            finish()
        end
    end)
end

mp.add_timeout(PATIENCE, function()
    if not first then
        fail("no first frame")
    end
end)

mp.add_timeout(0.5, function()
    opened = mp.get_time()
    mp.commandv("loadfile", options.path)
end)
