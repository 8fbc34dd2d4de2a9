// tools/commands/serve.cpp - `unweave serve`: a store as a service.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/plain_text.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/steady_output.h"
#include "tools/commands/commands.h"
#include "tools/commands/duration.h"
#include "tools/commands/model_output.h"
#include "tools/commands/rejections.h"
#include "tools/commands/solver_options.h"
#include "tools/service/http_service.h"
#include "tools/service/intake.h"
#include "unweave/fields/stream.h"

namespace unweave {
namespace {

/// One token a line.
std::vector<std::string> read_tokens(const std::string& file) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20;
  std::istringstream in(read_user_text(file, kMostBytes));
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

/// Names with commas between.
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    names.emplace_back(text.substr(from, to - from));
    if (names.back().empty())
      throw UsageError("--host must be a name, or several with commas between: graph.example.org");
    from = to + 1;
  }
  return names;
}

/// SIGINT and SIGTERM, which come to wait() from now on and to nobody else. Who sends one twice
/// means the same: those that are left when the service has ended, or failed, are taken, and how it
/// ended is told. Whoever reads what it prints may go away: SIGPIPE is ignored meanwhile.
class EndSignals {
 public:
  EndSignals() {
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGINT);
    ::sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignored, &pipe_before_);
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals() {
    const timespec nothing{0, 0};
    while (::sigtimedwait(&signals_, nullptr, &nothing) > 0) {
    }
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  /// While one of these lives, a signal ends the process at once: nobody was answered yet, and the
  /// store is as after a kill.
  class EndAtOnce {
   public:
    explicit EndAtOnce(const EndSignals& signals)
        : thread_([this, &signals] {
            while (!is_over_)
              if (signals.wait()) ::_exit(kKilled);
          }) {}
    EndAtOnce(const EndAtOnce&) = delete;
    EndAtOnce& operator=(const EndAtOnce&) = delete;
    ~EndAtOnce() {
      is_over_ = true;
      thread_.join();
    }

   private:
    static constexpr int kKilled = 128 + SIGTERM;
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
  };
  /// Whether one came in the next tenth of a second.
  [[nodiscard]] bool wait() const {
    const timespec moment{0, 100'000'000};
    return ::sigtimedwait(&signals_, nullptr, &moment) > 0;
  }

 private:
  sigset_t signals_{}, before_{};
  struct sigaction pipe_before_ {};
};

StreamOptions session_options(const CommandLine& line) {
  StreamOptions options;
  options.service = true;
  let_follow(followed_models(line), options);
  options.train_purged = true;
  options.key = key_file(line);
  if (line.has("receipts")) options.receipts = line.get<std::string>("receipts");
  if (line.has("changes")) options.changes = line.get<std::string>("changes");
  if ((line.has("receipts") || line.has("key")) && followed_models(line).empty())
    throw UsageError("--receipts and --key need --solver or --name: without a model there is no certificate");
  return options;
}

HttpOptions http_options(const CommandLine& line) {
  HttpOptions options;
  const auto address = read_address(line.get<std::string>("listen"));
  if (!address) throw UsageError("--listen must be unix:PATH or HOST:PORT, as 127.0.0.1:8080");
  options.address = *address;
  if (line.has("host")) options.hosts = split_names(line.get<std::string>("host"));
  if (line.has("tokens")) options.tokens = read_tokens(line.get<std::string>("tokens"));
  if (!options.address.is_local() && (!line.get<bool>("remote") || options.tokens.empty()))
    throw UsageError("--listen " + line.get<std::string>("listen") +
                     ": others than this machine could send requests; say so by --remote, and give --tokens");
  if (line.has("receipts")) options.receipts = line.get<std::string>("receipts");
  if (line.has("quarantine")) options.quarantine = line.get<std::string>("quarantine");
  return options;
}

/// Opens a latch once, at its own end at the latest: nobody waits for what does not come.
class LatchOpener {
 public:
  explicit LatchOpener(std::latch& latch) : latch_(latch) {}
  ~LatchOpener() { open(); }
  LatchOpener(const LatchOpener&) = delete;
  LatchOpener& operator=(const LatchOpener&) = delete;
  void open() {
    if (!std::exchange(is_open_, true)) latch_.count_down();
  }

 private:
  std::latch& latch_;
  bool is_open_ = false;
};

/// A line a batch.
void print_batch(const CommandLine& line, std::uint64_t number, const AppliedBatch& applied) {
  const BatchOutcome& outcome = applied.outcome;
  const BatchReport& report = outcome.batch;
  const BatchChanges& changes = report.changes;
  if (line.common().json) return write_json_line(line.out(), json_fields(applied, number));
  line.out() << "batch " << number << ": last request " << report.last_request << ", applied " << changes.applied
             << ", rejected " << changes.rejected << ", " << seconds_text(outcome.seconds);
  for (const ModelStep& step : outcome.steps) {
    line.out() << (outcome.steps.size() > 1 ? "; " + model_text(step.name, step.solver) : "");
    if (step.stuck.empty())
      line.out() << ", unlearning " << seconds_text(step.seconds_unlearn) << ", certified "
                 << certified_text(step.report) << missed_text(step);
    else
      line.out() << ", no model, and the one of before stays: " << command_text(step.stuck);
  }
  line.out() << std::endl;
}

/// A line a purge, on standard error: standard output has one a batch.
void note_purge(const CommandLine& line, const StorePurge& purge) {
  const PurgeReport& report = purge.report;
  if (report.nothing) return line.note("a purge had nothing to forget");
  std::string text = "purged: " + counted(report.requests, "request") + " forgotten in " + seconds_text(purge.seconds) +
                     ", digest " + digest_text(report.digest);
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    text += std::string("; ") + what;
    for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? " " : ", ") + names[i];
  };
  list("models kept", report.kept_models);
  list("models trained anew", report.trained_models);
  std::vector<std::string> gone;
  for (const std::string& name : purge.removed_models)
    if (std::find(report.trained_models.begin(), report.trained_models.end(), name) == report.trained_models.end())
      gone.push_back(name);
  list("models removed", gone);
  line.note(text);
  for (const ModelFault& one : report.uncertified_models)
    line.note("the model " + one.name + " stays and has no certificate yet: " + command_text(one.text));
  for (const ModelFault& one : report.lost_models)
    line.note("the model " + one.name + " could not be brought up to date and was removed: " + command_text(one.text));
}

/// What the nodes are called, for calls that are read while the store may be purged.
class ServedNames {
 public:
  explicit ServedNames(const Writer& writer) { open(writer); }
  /// The files of before are closed when the last call that reads with them is over.
  void open(const Writer& writer) {
    std::shared_ptr<const NodeNames> names = names_in_files(writer);
    const std::scoped_lock lock(mutex_);
    names_ = std::move(names);
  }
  [[nodiscard]] std::shared_ptr<const NodeNames> get() const {
    const std::scoped_lock lock(mutex_);
    return names_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const NodeNames> names_;
};

void serve(const CommandLine& line) {
  HttpOptions options = http_options(line);
  const EndSignals signals;  // before any thread is made
  // Nobody has to read what a service prints: whoever does not, holds up neither batches nor the
  // end.
  SteadyOutput out(line.out(), line.out_descriptor());
  const SteadyOutput error(line.error(), line.error_descriptor());
  std::optional<EndSignals::EndAtOnce> starting(std::in_place, signals);
  Resources resources({line.common().memory_bytes});
  // First, so that store and models divide what is left, at each start the same.
  Reservation calls = HttpService::reserve_calls(resources.memory());
  Reservation told = Intake::reserve_told(resources.memory());
  Writer writer(line.positional(0), resources);
  if (!writer.remark_on_ids().empty()) line.note(writer.remark_on_ids());
  StreamSession session(writer, session_options(line));
  options.models = session.models();
  for (const auto& [name, why] : session.stuck_models())
    line.note("the model " + name +
              " has not absorbed what was acknowledged, and is tried again at every batch: " + command_text(why));
  IntakeOptions how;
  how.batch = line.get<Count>("batch").value;
  how.every = read_duration("every", line.get<std::string>("every"));
  how.most_waiting = line.get<Count>("queue").value;
  how.checkpoint = read_duration("checkpoint", line.get<std::string>("checkpoint"));
  if (line.has("purge-every")) how.purge_every = read_duration("purge-every", line.get<std::string>("purge-every"));
  if (line.has("purge-after")) how.purge_after = line.get<Count>("purge-after").value;
  how.key = key_file(line);
  if (line.has("grow")) {
    how.most_nodes = line.get<Count>("grow").value;
    session.require_growth(how.most_nodes);
  }
  // The writer's own names move when its shards are written anew, and calls are read on other
  // threads meanwhile.
  ServedNames names(writer);
  how.tell_growth = [&](const GrowReport& report) {
    names.open(writer);
    line.note("room was made for " + counted(report.nodes_added, "node") + "; the store has it for " +
              count_text(report.nodes) + " now");
  };
  bool is_heard = true;        // on the thread that applies
  std::latch is_listening(1);  // which is printed first
  Intake intake(
      session, std::move(told), how,
      [&](std::uint64_t number, const AppliedBatch& applied) {
        is_listening.wait();
        print_batch(line, number, applied);
        if (!line.out() && std::exchange(is_heard, false))
          line.note("standard output takes no more lines; the service goes on, and does not tell of its batches");
      },
      [&](const StorePurge& purge) {
        names.open(writer);
        note_purge(line, purge);
      });
  const RequestWords given = request_words(writer);
  const std::shared_ptr<const ClassWords> classes = given.classes;
  const bool real_weights = given.real_weights;
  LatchOpener opener(is_listening);
  const auto read_line = [&](std::string_view text, RequestFault& fault) {
    const std::shared_ptr<const NodeNames> present = names.get();
    RequestWords words{{}, classes, present->relations(), real_weights};
    if (present->given()) words.node = [&](std::string_view word) { return present->read(word); };
    return parse_request(text, words, &fault);
  };
  HttpService service(writer.path(), intake, resources, std::move(calls), read_line, options);
  starting.reset();
  std::atomic<bool> ends = false;
  intake.on_failure([&] { ends = true; });
  if (line.common().json)
    write_json_line(line.out(), {{"listening", service.location()}});
  else
    line.out() << "listening on " << printable(service.location()) << std::endl;
  opener.open();
  using Time = std::chrono::steady_clock;
  std::optional<Time::time_point> end;
  if (line.has("for")) end = Time::now() + read_duration("for", line.get<std::string>("for"));
  std::thread server([&] { service.run(); });
  while (!ends && !signals.wait() && !(end && Time::now() >= *end)) {
    if (const std::uint64_t lines = out.left_out(); lines > 0)
      line.note("standard output was not read: " + counted(lines, "line") + " of batches " +
                (lines == 1 ? "was" : "were") + " not printed");
  }
  service.stop();
  server.join();
  constexpr std::chrono::seconds kLast{2};
  intake.finish(kLast);  // the journal has what is acknowledged: the next process applies what is left
  const IntakeCounts counts = intake.counts();
  session.close();
  if (!line.common().quiet)
    line.error() << "unweave: the service has ended: " << counted(counts.acknowledged, "request") << " acknowledged, "
                 << count_text(counts.applied) << " applied, " << count_text(counts.rejected) << " rejected"
                 << (counts.waiting > 0
                         ? "; " + counted(counts.waiting, "request") + " will be applied by what writes the store next"
                         : std::string())
                 << '\n';
}

}  // namespace

void run_serve(CommandLine& line) {
  line.describe(
      "Takes requests by HTTP and JSON, on a port of this machine or a Unix socket, until\n"
      "SIGTERM or Ctrl-C, and then, for 2 s, applies those that wait. A sender has the\n"
      "answer when his requests are durable, in groups of one sync; they are applied in\n"
      "batches, and what became of each is asked for by its id, which stands for one\n"
      "request: another one that comes with it is refused (409). What is to expire is\n"
      "removed then.\n"
      "Calls:\n\n"
      "  POST /requests           lines as stream --requests takes them, with\n"
      "                           Content-Type: text/x-unweave, or application/json:\n"
      "                           {\"requests\": [\"edge 1 2 id=T7\"]}\n"
      "  POST /purge              {} (application/json): erases what was removed, as\n"
      "                           `unweave purge` does, and answers when it is done;\n"
      "                           requests that come meanwhile are answered 503\n"
      "  GET  /requests/ID        what became of one; the service names those without\n"
      "  GET  /receipts/ID        its receipt, with --receipts (?model=NAME)\n"
      "  GET  /certificates/NAME  public lines of the certificates of a model\n"
      "  GET  /predict?nodes=1,2  classes, by the model (&model=NAME); of whole graphs\n"
      "                           ?graphs=1,2\n"
      "  POST /pairs              how likely an edge is, by a model of links: two nodes\n"
      "                           a line, or {\"pairs\": [\"1 2\"]} (?model=NAME)\n"
      "  GET  /links/NODE         the best pairs with a node without an edge to it\n"
      "                           (?top=K&model=NAME)\n"
      "  GET  /status, /ready, /metrics (for Prometheus)\n"
      "  GET  /                   a page for people: what waits, what is done under\n"
      "                           which certificate, what is not purged yet, a search;\n"
      "                           with --tokens it asks for one by a form\n\n"
      "A call has at most 16 KiB and 64 headers, 16 MiB of body and 100,000 requests; its\n"
      "headers come within 10 s, its body within 60 s. There are 1,024 connections, where the\n"
      "one that idles longest makes room. All calls share an eighth of --memory, at most\n"
      "256 MiB. No page of another place may call, nor who calls it by another name (--host).",
      {"STORE"}, "unweave serve demo/debian.store --listen 127.0.0.1:0 --for 1s");
  auto add = line.options().add_options();
  add("listen", po::value<std::string>()->value_name("ADDRESS")->default_value("127.0.0.1:8080"),
      "HOST:PORT, or unix:PATH, a socket for its owner alone; port 0: any that is free");
  add("host", po::value<std::string>()->value_name("NAME,.."),
      "by which names callers may call it, besides its address, as in the header Host: those of a proxy or a tunnel");
  add("tokens", po::value<std::string>()->value_name("F"),
      "file with one token a line: each call but /ready needs one, `Authorization: Bearer TOKEN`; a browser is asked for it");
  add("remote", po::bool_switch(), "other machines may call; with --tokens, and behind a proxy that encrypts");
  add("batch", po::value<Count>()->value_name("K")->default_value({100}), "requests that are applied together");
  add("every", po::value<std::string>()->value_name("TIME")->default_value("5s"),
      "how long a request waits for others of its batch: 500ms, 5s, 2min");
  add("checkpoint", po::value<std::string>()->value_name("TIME")->default_value("10min"),
      "how often the journal begins anew, behind files that hold what was applied");
  add("for", po::value<std::string>()->value_name("TIME"), "end after so long; without it at a signal");
  add("queue", po::value<Count>()->value_name("N")->default_value({100'000}),
      "requests that may wait to be applied, where the memory has room for so many; beyond it the answer is 503");
  add_follow_options(line);
  add("receipts", po::value<std::string>()->value_name("F"),
      "with --solver: append receipts to F, as stream does; of several models each has F.NAME");
  add("purge-every", po::value<std::string>()->value_name("TIME"),
      "purge the store, as `unweave purge` does, when its oldest request that no purge has reached is so old: 24h, 7d; "
      "meanwhile no request is taken (503)");
  add("purge-after", po::value<Count>()->value_name("N"),
      "purge the store when N requests were acknowledged since its last purge; with --purge-every, at what comes first");
  add("grow", po::value<Count>()->value_name("N"),
      "where insert-node names a node that there is no room for, make room as `unweave grow` does, for N nodes in all at "
      "most; the number of nodes is public then and tells that a large id once came; without it such a request is rejected");
  add("changes", po::value<std::string>()->value_name("DIR"), "folder that follows the embedding, as stream has it");
  add("quarantine", po::value<std::string>()->value_name("F"),
      "append lines that are no requests to F, with the time and the reason");
  add_key_option(line);
  if (!line.parse()) return;
  for (const char* option : {"receipts", "changes", "quarantine"}) line.require_outside(option, line.positional(0));
  constexpr std::string_view kSocket = "unix:";
  if (line.has("listen") && line.get<std::string>("listen").starts_with(kSocket))
    CommandLine::require_outside("listen", line.get<std::string>("listen").substr(kSocket.size()), line.positional(0));
  if (line.get<Count>("batch").value == 0) throw UsageError("--batch must be at least 1");
  if (line.get<Count>("queue").value == 0) throw UsageError("--queue must be at least 1");
  if (line.has("purge-after") && line.get<Count>("purge-after").value == 0)
    throw UsageError("--purge-after must be at least 1");
  if (line.has("purge-every") && read_duration("purge-every", line.get<std::string>("purge-every")).count() == 0)
    throw UsageError("--purge-every must be more than 0");
  for (const char* option : {"every", "for", "checkpoint"})
    if (line.has(option)) static_cast<void>(read_duration(option, line.get<std::string>(option)));
  line.on_interrupt("the service has ended; what was acknowledged is in the store");
  serve(line);
}

}  // namespace unweave
