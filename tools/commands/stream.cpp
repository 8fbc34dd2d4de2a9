// tools/commands/stream.cpp - `unweave stream`: requests in order, in batches, one line a batch when it is durable.
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include "algorithms/models/lazy_error.h"
#include "algorithms/models/learner.h"
#include "algorithms/models/recorded_release.h"
#include "engine/resources/clock.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "tools/bench/bench_stream.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/version.h"
#include "tools/commands/acknowledged.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_output.h"
#include "tools/commands/rejections.h"

namespace unweave {
namespace {

StreamMode read_mode(const CommandLine& line) {
  StreamMode mode;
  if (line.has("r-max")) mode.r_max = line.get<Real>("r-max").value;
  if (line.has("r-max-scale")) {
    const auto& scale = line.get<std::string>("r-max-scale");
    if (!line.has("r-max")) throw UsageError("--r-max-scale needs --r-max");
    if (scale == "paper")
      mode.scale = ThresholdScale::paper;
    else if (scale == "code")
      mode.scale = ThresholdScale::code;
    else
      throw UsageError("--r-max-scale must be paper or code");
  }
  return mode;
}

Plan read_plan(const CommandLine& line) {
  const auto& plan = line.get<std::string>("plan");
  if (plan == "auto") return Plan::automatic;
  if (plan == "push") return Plan::push;
  if (plan != "recompute") throw UsageError("--plan must be auto, push or recompute");
  if (line.has("r-max")) throw UsageError("--plan recompute leaves no residues; leave out --r-max");
  return Plan::recompute;
}

/// What came before the batch stays, and the store is closed as ever.
struct RefusedBatch final : DataError {
  using DataError::DataError;
};

constexpr std::size_t kToldRefused = 20, kToldRejected = 3;  // requests by name

/// `name`: of the input.
[[noreturn]] void refuse(const CommandLine& line, const std::string& name, const DecidedBatch& batch,
                         const Acknowledged& acknowledged) {
  throw RefusedBatch(
      name + ": " + rejected_text(batch, kToldRefused, true) + "; --strict refuses the batch of " +
      std::to_string(batch.requests.size()) + " requests" +
      (line.has("rejected") ? ", all rejected ones of which are in " + line.get<std::string>("rejected") : "") +
      "; without it they are left out; " + acknowledged.text(true));
}

/// Requests of a file that can be read twice; 0 where that is not known.
std::uint64_t count_requests(const std::string& file) {
  std::error_code error;
  if (file == "-" || !std::filesystem::is_regular_file(file, error)) return 0;
  std::uint64_t count = 0;
  try {
    RequestReader reader(file);
    for (Request request; reader.next(request);) ++count;
  } catch (const InputError&) {
    return 0;  // which is told when its turn comes
  }
  return count;
}

/// None, with a remark, where there is no room for it or nothing that it bounds.
std::optional<StreamLimit> measure_limit(const CommandLine& line, MemoryBudget& budget) {
  const std::string& store = line.positional(0);
  std::string reason = "the store is not propagated";
  try {
    if (read_manifest(store).propagation) return measure_stream_limit(store, 2, budget);
  } catch (const ResourceError& error) {
    reason = command_text(error.message());
  }
  if (!line.common().quiet) line.error() << "note: the limit is not measured: " << reason << '\n';
  return std::nullopt;
}

/// Work of batches on graph and sums, beside the limit.
class StreamMeter {
 public:
  StreamMeter(const CommandLine& line, const std::optional<StreamLimit>& limit)
      : limit_(limit),
        progress_(line.error(), line.shows_progress(), "stream",
                  line.shows_progress() ? count_requests(line.get<std::string>("requests")) : 0, "requests") {}

  struct Batch {
    double seconds = 0;
    std::optional<double> limit_seconds;

    [[nodiscard]] std::optional<double> ratio() const {
      return limit_seconds ? std::optional(*limit_seconds / seconds) : std::nullopt;
    }
  };

  Batch add(const UpdateReport& report, double seconds) {
    Batch batch{seconds, {}};
    if (limit_) batch.limit_seconds = limit_->seconds(report.arcs_summed, report.rows_touched);
    all_.seconds += seconds;
    if (limit_) all_.limit_seconds = all_.limit_seconds.value_or(0) + *batch.limit_seconds;
    return batch;
  }
  /// So many requests more are done, whose work was added.
  void advance(std::uint64_t requests) {
    requests_ += requests;
    if (all_.limit_seconds.value_or(0) > 0) progress_.set_limit(static_cast<double>(requests_) / *all_.limit_seconds);
    progress_.advance(requests);
  }
  void clear() { progress_.clear(); }
  [[nodiscard]] const Batch& all() const noexcept { return all_; }

 private:
  std::optional<StreamLimit> limit_;
  Batch all_;
  std::uint64_t requests_ = 0;
  Progress progress_;
};

nlohmann::ordered_json optional_json(std::optional<double> value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json line_of(std::uint64_t batch, const BatchReport& report, const StreamMeter::Batch& work,
                               std::optional<double> lazy_error, bool is_public) {
  const BatchChanges& changes = report.changes;
  nlohmann::ordered_json json = {
      {"batch", batch}, {"requests", changes.requests}, {"last_request", report.last_request}};
  if (is_public) return json;  // whether a request changed anything, and how much, tells of removed data
  json["applied"] = changes.applied;
  json["rejected"] = changes.rejected;
  json["edges_removed"] = changes.edges_removed;
  json["nodes_removed"] = changes.nodes_removed;
  json["features_removed"] = changes.features_removed;
  json["edges_inserted"] = changes.edges_inserted;
  json["seconds_journal"] = report.seconds_journal;
  json["seconds_propagate"] = report.seconds_propagate;
  json["rows_touched"] = report.update.rows_touched;
  json["arcs_visited"] = report.update.arcs_visited;
  json["pushes"] = report.update.pushes;
  json["plan"] = report.update.plan;
  json["seconds_predicted"] = report.update.seconds_predicted;
  json["limit_seconds"] = optional_json(work.limit_seconds);
  json["limit_ratio"] = optional_json(work.ratio());
  json["lazy_error_bound"] = optional_json(lazy_error);
  return json;
}

constexpr std::size_t kRoomRequests = 4096;  // of a batch, for which room is made at a time

/// A model that follows the stream, and what it has to say of the batch at hand.
class Follower {
 public:
  Follower(const CommandLine& line, LiveStore& store, MemoryBudget& budget)
      : store_(store),
        is_public_(line.get<bool>("public")),
        every_(line.get<Count>("evaluate-every").value),
        learner_(Learner::open(
            store, budget, *selected_model(line),
            {line.get<std::string>("requests") == "-" ? !line.get<bool>("non-adaptive") : line.get<bool>("adaptive"),
             std::string(version()),
             {},
             key_file(line),
             line.has("receipts") ? line.get<std::string>("receipts") : std::string()},
            line.common().seed)) {
    require_selected_solver(line, learner_.record());
    const Clock::time_point start = Clock::now();
    caught_up_ = learner_.catch_up();
    seconds_catch_up_ = seconds_since(start);
  }

  /// Whether the model missed requests of earlier streams, which it has absorbed now.
  [[nodiscard]] bool caught_up() const noexcept { return caught_up_.has_value(); }

  void absorb(const BatchReport& report, const std::vector<Request>& requests) {
    const Clock::time_point start = Clock::now();
    step_ = learner_.absorb(report, requests);
    seconds_ = seconds_since(start);
    if (caught_up_) {
      step_.retrained |= caught_up_->retrained;
      step_.passes += caught_up_->passes;
    }
    ++batches_;
    accuracies_ = {};
    if (every_ > 0 && batches_ % every_ == 0) accuracies_ = evaluate_model(store_, learner_.record(), &learner_.rows());
  }

  /// What need not be done before a batch is acknowledged.
  void settle() { learner_.settle(); }

  void add_to(nlohmann::ordered_json& json) {
    if (!is_public_) {
      json["seconds_unlearn"] = seconds_;
      if (caught_up_) json["seconds_catch_up"] = seconds_catch_up_;
    }
    add_step(json, step_, is_public_);
    add_accuracies(json, accuracies_);
    caught_up_.reset();
  }

  void print(std::ostream& out) {
    const auto bound = [&](double x) { return step_.budget > 0 ? number_text(x) : std::string("-"); };
    if (!is_public_)
      out << ", unlearning " << seconds_text(seconds_) << (step_.retrained ? " (retrained)" : "") << ", residual bound "
          << bound(step_.residual_bound);
    out << ", budget " << bound(step_.budget);
    if (!is_public_ || !step_.private_claim) out << ", certified " << certified_text(step_);
    if (accuracies_.test) out << ", test accuracy " << accuracy_text(accuracies_.test);
    caught_up_.reset();
  }

 private:
  LiveStore& store_;
  bool is_public_;
  std::uint64_t every_;
  Learner learner_;
  std::optional<StepReport> caught_up_;  // told with the first batch
  double seconds_catch_up_ = 0;
  std::uint64_t batches_ = 0;
  StepReport step_;
  double seconds_ = 0;
  Accuracies accuracies_;
};

std::string share_text(double ratio) {
  return number_text(std::round(100 * ratio)) + " %";
}

/// Does what the batches have put off, and makes a generation of it.
void finish(const CommandLine& line, LiveStore& store, StreamMeter& meter) {
  const Clock::time_point start = Clock::now();
  const UpdateReport report = store.deliver();
  const double seconds = seconds_since(start);
  meter.add(report, seconds);
  meter.clear();
  store.checkpoint();
  store.record();
  if (line.common().quiet || line.get<bool>("public")) return;  // how much was done tells of removed data
  if (report.rows_touched > 0)
    line.error() << "unweave: the last level brought up to date by " << report.plan.back() << ": "
                 << count_text(report.rows_touched) << " rows in " << number_text(seconds) << " s, "
                 << number_text(report.seconds_predicted) << " s predicted\n";
  if (const auto ratio = meter.all().ratio())
    line.error() << "unweave: all batches and their last level in " << seconds_text(meter.all().seconds) << ", "
                 << share_text(*ratio) << " of the limit, " << seconds_text(*meter.all().limit_seconds) << '\n';
}

/// What became of all requests together.
void print_summary(const CommandLine& line, const RequestCounts& counts, const Acknowledged& acknowledged) {
  if (acknowledged.requests() == 0 || line.common().quiet || line.get<bool>("public")) return;
  std::string text = "all requests: " + counts.text();
  if (counts.rejected() > 0)
    text += line.has("rejected") ? "; they are in " + line.get<std::string>("rejected")
                                 : "; --rejected F writes them to a file";
  if (line.common().json)
    line.error() << "unweave: " << text << '\n';
  else
    line.out() << text << std::endl;
}

}  // namespace

void run_stream(CommandLine& line) {
  line.describe("Applies requests in order, in batches; one line a batch when it is durable.\n\n" + request_table(),
                {"STORE"}, "echo 'edge 12 34' | unweave stream demo/debian.store --requests -");
  auto add = line.options().add_options();
  add("requests", po::value<std::string>()->value_name("F")->required(),
      "file of `edge U V`, `node U`, `feature U`, `insert-edge U V`; - for standard input");
  add("batch", po::value<Count>()->value_name("K")->default_value({100}), "requests a batch");
  add("r-max", po::value<Real>()->value_name("R"), "lazy: leave residues up to R unpublished; without it exact");
  add("r-max-scale", po::value<std::string>()->value_name("S"),
      "paper: R of features scaled to |D^1/2 x|_1 = 1; code: R times the mean column 1-norm; else absolute");
  add("plan", po::value<std::string>()->value_name("P")->default_value("auto"),
      "auto, push or recompute: how levels follow a batch; auto takes what seems cheaper, all give the same bits");
  add("strict", po::bool_switch(), "refuse the whole batch of a request that is rejected, name them all, and stop");
  add("rejected", po::value<std::string>()->value_name("F"),
      "append to F every rejected request with its reason and its number in the store, tabs between");
  add("solver", po::value<std::string>()->value_name("NAME"), "unlearn every batch from this trained model");
  add_name_option(line, "unlearn every batch from the model of this name");
  add("evaluate-every", po::value<Count>()->value_name("K")->default_value({1}),
      "accuracy after every K-th batch, with --solver; 0: never");
  add("receipts", po::value<std::string>()->value_name("F"),
      "with --solver: append to F, for every request, a line that proves to its sender that the batch's certificate "
      "covers it (verify --receipts); give each sender his own lines; what a crash kept from F comes with the next "
      "stream that names F");
  add("adaptive", po::bool_switch(),
      "the requests of a file were chosen after looking at a release; without it the certificates assume that they "
      "were "
      "not");
  add("non-adaptive", po::bool_switch(), "the requests of - were chosen without looking at any release");
  add("measure-limit", po::bool_switch(),
      "first measure what bounds the batches: sums over the uncompressed lists of this graph, rows copied from random "
      "places to others, as bench stream does");
  add("public", po::bool_switch(), "print only what may be published");
  add_key_option(line);
  if (!line.parse()) return;
  line.on_interrupt("`unweave info " + line.positional(0) + "` says how many requests are acknowledged");
  const std::optional<std::string> model = selected_model(line);
  for (const char* option : {"receipts", "key"})
    if (line.has(option) && !model)
      throw UsageError("--" + std::string(option) +
                       " needs --solver or --name: without a model there is no certificate");
  for (const char* option : {"receipts", "rejected"}) line.require_outside(option, line.positional(0));
  if (line.has("rejected") && line.get<std::string>("rejected") == "-")
    throw UsageError("--rejected: name a file; on standard output --json has the list");
  if (line.has("receipts") && line.get<std::string>("receipts") == "-")
    throw UsageError("--receipts: name a file; it is durable before the batch's line is printed");
  if (line.has("rejected") && line.has("receipts") &&
      line.get<std::string>("rejected") == line.get<std::string>("receipts"))
    throw UsageError("--rejected and --receipts: name two files");

  const std::uint64_t batch_size = line.get<Count>("batch").value;
  if (batch_size == 0) throw UsageError("--batch must be at least 1");
  const StreamMode mode = read_mode(line);
  const Plan plan = read_plan(line);
  Acknowledged acknowledged(line.get<std::string>("requests"));
  MemoryBudget budget(line.budget_bytes());
  LiveStore store(line.positional(0), Access::write, budget, release_ledger());
  store.set_plan(plan);
  if (mode.r_max > 0) static_cast<void>(store.threshold(mode));
  std::optional<Follower> follower;
  if (model) follower.emplace(line, store, budget);
  RequestReader reader(line.get<std::string>("requests"));
  std::optional<StreamLimit> limit;
  if (line.get<bool>("measure-limit")) limit = measure_limit(line, budget);
  StreamMeter meter(line, limit);

  std::optional<RejectedFile> rejected_file;
  if (line.has("rejected")) rejected_file.emplace(line.get<std::string>("rejected"));
  RequestCounts counts;
  std::uint64_t batch = 0;
  std::vector<Request> requests;
  Reservation room;                   // of requests and all that is made of them
  std::vector<std::uint64_t> places;  // of them, in the file
  store.watch_appends([&] { acknowledged.begin(); }, [&] { acknowledged.end(requests.size(), places.back()); });
  const auto send = [&] {
    if (requests.empty()) return;
    const Clock::time_point start = Clock::now();
    BatchChanges changes = store.resolve(requests);
    DecidedBatch decided{requests, places, changes.statuses, store.sequence()};
    const bool refused = line.get<bool>("strict") && changes.rejected > 0;
    if (rejected_file) rejected_file->add(decided, refused);  // before the batch is acknowledged
    if (refused) refuse(line, reader.name().string(), decided, acknowledged);
    const BatchReport report =
        store.apply(requests, std::move(changes), mode, follower ? LastLevel::at_once : LastLevel::deferred);
    const StreamMeter::Batch work = meter.add(report.update, seconds_since(start));
    ++batch;
    decided.statuses = report.changes.statuses;
    counts.add(decided.statuses);
    if (follower) follower->absorb(report, requests);
    meter.clear();
    acknowledged.begin();
    if (line.common().json) {
      std::optional<double> lazy_error;
      if (store.propagated()) lazy_error = lazy_error_bound(store.embedding(), store.contents());
      nlohmann::ordered_json json = line_of(batch, report, work, lazy_error, line.get<bool>("public"));
      if (follower) follower->add_to(json);
      if (line.get<bool>("public"))
        write_json_line(line.out(), json);
      else
        write_with_rejections(line.out(), json, decided);
    } else {
      line.out() << "batch " << batch << ": last request " << report.last_request;
      if (!line.get<bool>("public"))
        line.out() << ", applied " << report.changes.applied << ", rejected " << report.changes.rejected
                   << (report.changes.rejected > 0 ? " (" + rejected_text(decided, kToldRejected, false) + ")" : "")
                   << ", propagation " << seconds_text(report.seconds_propagate) << ", rows "
                   << count_text(report.update.rows_touched) << ", arcs " << count_text(report.update.arcs_visited);
      if (work.limit_seconds && !line.get<bool>("public"))
        line.out() << ", " << share_text(*work.ratio()) << " of the limit";
      if (follower) follower->print(line.out());
      line.out() << std::endl;
    }
    // Nothing is applied that could not be acknowledged.
    if (!line.out())
      throw ResourceError("cannot write to standard output after batch " + std::to_string(batch) +
                          ", which is durable; is the disk full?");
    acknowledged.told();
    requests.clear();
    places.clear();
    room.release();
    if (follower) follower->settle();
    meter.advance(report.changes.requests);
  };
  Request request;
  try {
    while (reader.next(request)) {
      if (requests.size() % kRoomRequests == 0) {
        room.release();
        room = store.reserve_batch(std::min<std::uint64_t>(batch_size, requests.size() + kRoomRequests));
      }
      requests.push_back(request);
      places.push_back(reader.number());
      if (requests.size() == batch_size) send();
    }
    send();
  } catch (const RefusedBatch&) {
    finish(line, store, meter);
    print_summary(line, counts, acknowledged);
    throw;
  } catch (const InputError& error) {
    // What came before the bad line was asked for in good order; --strict rejects it with its batch.
    if (!line.get<bool>("strict")) send();
    finish(line, store, meter);
    print_summary(line, counts, acknowledged);
    throw DataError(error.message() + "; " + acknowledged.text(true));
  }
  acknowledged.finish();
  finish(line, store, meter);
  print_summary(line, counts, acknowledged);
  if (acknowledged.requests() == 0 && !line.common().quiet)
    line.error() << "unweave: " << reader.name().string() << " holds no requests"
                 << (follower && follower->caught_up() ? "; the model is brought up to date with those before" : "")
                 << '\n';
}

}  // namespace unweave
