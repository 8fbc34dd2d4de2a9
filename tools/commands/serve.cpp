// tools/commands/serve.cpp - `unweave serve`: a store as a service.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "tools/cli/output.h"
#include "tools/commands/batch_output.h"
#include "tools/commands/commands.h"
#include "tools/commands/duration.h"
#include "tools/commands/model_output.h"
#include "tools/commands/rejections.h"
#include "tools/commands/solver_options.h"
#include "tools/service/http_service.h"
#include "tools/service/intake.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// One token a line.
std::vector<std::string> read_tokens(const std::string& file) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
  std::istringstream in(read_text_file(file, kMostBytes));
  constexpr std::size_t kLeast = 16;
  std::vector<std::string> tokens;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (line.size() < kLeast || line.find_first_of(" \t\r") != std::string::npos)
      throw InputError(file, "line " + std::to_string(number), "a token has at least 16 characters and no blanks",
                       "draw one, by `openssl rand -hex 32`");
    tokens.push_back(line);
  }
  if (tokens.empty()) throw DataError(file + ": there is no token in it; write one a line");
  return tokens;
}

/// SIGINT and SIGTERM, which come to wait() from now on and to nobody else.
class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  /// Whether one came in the next tenth of a second.
  [[nodiscard]] bool wait() const {
    const timespec moment{0, 100'000'000};
    return ::sigtimedwait(&signals_, nullptr, &moment) > 0;
  }

 private:
  sigset_t signals_{}, before_{};
};

StreamOptions session_options(const CommandLine& line) {
  StreamOptions options;
  options.model = model_selection(line);
  options.key = key_file(line);
  if (line.has("receipts")) options.receipts = line.get<std::string>("receipts");
  if (line.has("changes")) options.changes = line.get<std::string>("changes");
  if ((line.has("receipts") || line.has("key")) && !options.model.name && !options.model.solver)
    throw UsageError("--receipts and --key need --solver or --name: without a model there is no certificate");
  return options;
}

HttpOptions http_options(const CommandLine& line) {
  HttpOptions options;
  const auto address = read_address(line.get<std::string>("listen"));
  if (!address) throw UsageError("--listen must be unix:PATH or HOST:PORT, as 127.0.0.1:8080");
  options.address = *address;
  if (line.has("tokens")) options.tokens = read_tokens(line.get<std::string>("tokens"));
  if (!options.address.is_local() && (!line.get<bool>("remote") || options.tokens.empty()))
    throw UsageError("--listen " + line.get<std::string>("listen") +
                     ": others than this machine could send requests; say so by --remote, and give --tokens");
  if (line.has("receipts")) options.receipts = line.get<std::string>("receipts");
  if (line.has("quarantine")) options.quarantine = line.get<std::string>("quarantine");
  return options;
}

/// A line a batch.
void print_batch(const CommandLine& line, std::uint64_t number, const AppliedBatch& applied) {
  const BatchOutcome& outcome = applied.outcome;
  const BatchReport& report = outcome.batch;
  const BatchChanges& changes = report.changes;
  if (line.common().json) {
    Json json = {{"batch", number},
                 {"requests", changes.requests},
                 {"last_request", report.last_request},
                 {"time", time_text(report.time)},
                 {"applied", changes.applied},
                 {"rejected", changes.rejected}};
    add_changes(json, changes);
    json.update({{"seconds_propagate", report.seconds_propagate},
                 {"rows_touched", report.update.rows_touched},
                 {"arcs_visited", report.update.arcs_visited},
                 {"pushes", report.update.pushes},
                 {"plan", report.update.plan},
                 {"seconds_predicted", report.update.seconds_predicted}});
    if (outcome.step) {
      json["seconds_unlearn"] = outcome.seconds_unlearn;
      add_step(json, *outcome.step, false);
    }
    if (outcome.changes_entry) json["changes_entry"] = *outcome.changes_entry;
    write_json_line(line.out(), json);
    return;
  }
  line.out() << "batch " << number << ": last request " << report.last_request << ", applied " << changes.applied
             << ", rejected " << changes.rejected << ", " << seconds_text(outcome.seconds);
  if (outcome.step)
    line.out() << ", unlearning " << seconds_text(outcome.seconds_unlearn) << ", certified "
               << certified_text(*outcome.step);
  line.out() << std::endl;
}

void serve(const CommandLine& line) {
  const HttpOptions options = http_options(line);
  const EndSignals signals;  // before any thread is made
  Resources resources({line.common().memory_bytes});
  Writer writer(line.positional(0), resources);
  StreamSession session(writer, session_options(line));
  IntakeOptions how;
  how.batch = line.get<Count>("batch").value;
  how.every = read_duration("every", line.get<std::string>("every"));
  how.most_waiting = line.get<Count>("queue").value;
  how.checkpoint = read_duration("checkpoint", line.get<std::string>("checkpoint"));
  Intake intake(session, how,
                [&](std::uint64_t number, const AppliedBatch& applied) { print_batch(line, number, applied); });
  // The writer's own names move when its shards are written anew, and calls are read on other threads meanwhile.
  const NodeNames names(line.positional(0), writer.manifest());
  ReadId read_id;
  if (names.given()) read_id = [&](std::string_view word) { return names.number(word); };
  const auto read_line = [&](std::string_view text, RequestFault& fault) {
    return parse_request(text, read_id, &fault);
  };
  HttpService service(line.positional(0), intake, resources, read_line, options);
  std::atomic<bool> ends = false;
  intake.on_failure([&] { ends = true; });
  if (line.common().json)
    write_json_line(line.out(), {{"listening", service.location()}});
  else
    line.out() << "listening on " << service.location() << std::endl;
  using Time = std::chrono::steady_clock;
  std::optional<Time::time_point> end;
  if (line.has("for")) end = Time::now() + read_duration("for", line.get<std::string>("for"));
  std::thread server([&] { service.run(); });
  while (!ends && !signals.wait() && !(end && Time::now() >= *end)) {
  }
  service.stop();
  server.join();
  intake.finish();  // what is acknowledged is applied
  const IntakeCounts counts = intake.counts();
  session.close();
  if (!line.common().quiet)
    line.error() << "unweave: the service has ended: " << counted(counts.acknowledged, "request") << " acknowledged, "
                 << count_text(counts.applied) << " applied, " << count_text(counts.rejected) << " rejected\n";
}

}  // namespace

void run_serve(CommandLine& line) {
  line.describe(
      "Takes requests by HTTP and JSON, on a port of this machine or a Unix socket, until\n"
      "SIGTERM or Ctrl-C, and then applies those that wait. A sender has the answer when\n"
      "his requests are durable, in groups of one sync; they are applied in batches, and\n"
      "what became of each is asked for by its id. An edge that expires is removed then.\n"
      "Calls:\n\n"
      "  POST /requests           lines as stream --requests takes them, or\n"
      "                           {\"requests\": [\"edge 1 2 id=T7\"]}\n"
      "  GET  /requests/ID        what became of one; the service names those without\n"
      "  GET  /receipts/ID        its receipt, with --receipts\n"
      "  GET  /certificates/NAME  public lines of the certificates of a model\n"
      "  GET  /predict?nodes=1,2  classes, by the model (&model=NAME)\n"
      "  GET  /status, /ready, /metrics (for Prometheus)",
      {"STORE"}, "unweave serve demo/debian.store --listen 127.0.0.1:0 --for 1s");
  auto add = line.options().add_options();
  add("listen", po::value<std::string>()->value_name("ADDRESS")->default_value("127.0.0.1:8080"),
      "HOST:PORT, or unix:PATH, a socket for its owner alone; port 0: any that is free");
  add("tokens", po::value<std::string>()->value_name("F"),
      "file with one token a line: each call but /ready needs one, `Authorization: Bearer TOKEN`");
  add("remote", po::bool_switch(), "other machines may call; with --tokens, and behind a proxy that encrypts");
  add("batch", po::value<Count>()->value_name("K")->default_value({100}), "requests that are applied together");
  add("every", po::value<std::string>()->value_name("TIME")->default_value("5s"),
      "how long a request waits for others of its batch: 500ms, 5s, 2min");
  add("checkpoint", po::value<std::string>()->value_name("TIME")->default_value("10min"),
      "how often the journal begins anew, behind files that hold what was applied");
  add("for", po::value<std::string>()->value_name("TIME"), "end after so long; without it at a signal");
  add("queue", po::value<Count>()->value_name("N")->default_value({100'000}),
      "requests that may wait to be applied; beyond it the answer is 503");
  line.set_choices("solver", solver_choices());
  add("solver", po::value<std::string>()->value_name("NAME"), "unlearn every batch from this trained model");
  add_name_option(line, "unlearn every batch from the model of this name");
  add("receipts", po::value<std::string>()->value_name("F"), "with --solver: append receipts to F, as stream does");
  add("changes", po::value<std::string>()->value_name("DIR"), "folder that follows the embedding, as stream has it");
  add("quarantine", po::value<std::string>()->value_name("F"),
      "append lines that are no requests to F, with the time and the reason");
  add_key_option(line);
  if (!line.parse()) return;
  for (const char* option : {"receipts", "changes", "quarantine"}) line.require_outside(option, line.positional(0));
  if (line.get<Count>("batch").value == 0) throw UsageError("--batch must be at least 1");
  if (line.get<Count>("queue").value == 0) throw UsageError("--queue must be at least 1");
  for (const char* option : {"every", "for", "checkpoint"})
    if (line.has(option)) static_cast<void>(read_duration(option, line.get<std::string>(option)));
  serve(line);
}

}  // namespace unweave
