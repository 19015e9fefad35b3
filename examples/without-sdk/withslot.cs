// withslot runs a command while it holds a slot of a product, without an SDK (.NET 10 or newer):
//
//     dotnet run withslot.cs -- http://127.0.0.1:8080 demo ada@example.com sleep 60
//
// It exits with the code of the command, with 75 if no slot is free, and with 76 if the slot was lost.
using System.Diagnostics;
using System.Net;
using System.Net.Http.Json;
using System.Text.Json;

const int NoSlot = 75, SlotLost = 76;
// The server may lend the slot again at its end, so this program stops using it a little earlier.
var margin = TimeSpan.FromSeconds(2);
var retryAfter = TimeSpan.FromSeconds(5);

if (args.Length < 4) return Fail(2, "usage: withslot SERVER PRODUCT USER COMMAND [ARGUMENT]...");
using var client = new HttpClient { BaseAddress = new Uri(args[0]), Timeout = TimeSpan.FromSeconds(10) };
client.DefaultRequestHeaders.Add("Prefer", "return=minimal");
long? licenseId = null;

// Counted from when the request was sent: its answer may have taken a while.
var clock = Stopwatch.StartNew();
var sentAt = clock.Elapsed;
JsonElement granted;
try { granted = await Call("register"); }
catch (Exception error) { return Fail(NoSlot, $"the license server cannot be reached: {error.Message}"); }
if (Refusal(granted) is { } refused) return Fail(NoSlot, refused);
licenseId = granted.GetProperty("license_id").GetInt64();

using var stop = new CancellationTokenSource();
var lost = Keep(granted, sentAt, stop.Token);
Process command;
try { command = Process.Start(args[3], args[4..]); }
catch (Exception error) { await GiveBack(); return Fail(127, error.Message); }
// Ctrl-C reaches the command too; its end is waited for.
Console.CancelKeyPress += (_, pressed) => pressed.Cancel = true;
var done = command.WaitForExitAsync();
if (await Task.WhenAny(done, lost) == lost)
{
    command.Kill(entireProcessTree: true);
    await done;
    return Fail(SlotLost, $"the slot was lost, so the command was ended. {await lost}");
}
stop.Cancel();
await GiveBack();
return command.ExitCode;

// Sends one request of the API. A refusal is an answer, not an error.
async Task<JsonElement> Call(string operation)
{
    var fields = new Dictionary<string, object>
    {
        ["product"] = args[1],
        ["user"] = args[2],
        ["os_hostname"] = Environment.MachineName,
    };
    // Stay with the license that has lent the slot.
    if (licenseId is { } id) fields["license_id"] = id;
    using var response = await client.PostAsJsonAsync($"/api/v4/{operation}", fields);
    if (response.StatusCode >= HttpStatusCode.InternalServerError
        || response.StatusCode == HttpStatusCode.TooManyRequests) response.EnsureSuccessStatusCode();
    if (operation == "unregister" && response.IsSuccessStatusCode) return default;
    return await response.Content.ReadFromJsonAsync<JsonElement>();
}

// Renews the slot in time. It returns, with the reason, when the slot is lost.
async Task<string> Keep(JsonElement slot, TimeSpan sentAt, CancellationToken stopped)
{
    while (true)
    {
        var end = sentAt + Seconds(slot, "slot_ends_in_seconds") - margin;
        var wait = Seconds(slot, "renew_in_seconds");
        while (true)
        {
            var left = end - clock.Elapsed;
            if (left <= TimeSpan.Zero) return "The server has not answered in time.";
            await Task.Delay(wait < left ? wait : left, stopped);
            if (clock.Elapsed >= end) return "The server has not answered in time.";
            sentAt = clock.Elapsed;
            try { slot = await Call("register"); break; }
            catch (HttpRequestException) { wait = retryAfter; }
            catch (TaskCanceledException) { wait = retryAfter; }
        }
        if (Refusal(slot) is { } reason) return reason;
    }
}

async Task GiveBack()
{
    try { await Call("unregister"); }
    catch (HttpRequestException) { /* It ends at its time. */ }
}

static TimeSpan Seconds(JsonElement slot, string name) => TimeSpan.FromSeconds(slot.GetProperty(name).GetInt32());

static string? Refusal(JsonElement answer) =>
    answer.TryGetProperty("code", out _) ? answer.GetProperty("message").GetString() : null;

static int Fail(int code, string message)
{
    Console.Error.WriteLine($"withslot: {message}");
    return code;
}
