// tools/commands/stream.cpp - `unweave stream`: requests in order, in batches, one line a batch
// when it is durable.
#include "unweave/stream.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/report_json.h"
#include "tools/commands/acknowledged.h"
#include "tools/commands/commands.h"
#include "tools/commands/duration.h"
#include "tools/commands/local_option.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "tools/commands/rejections.h"
#include "tools/commands/solver_options.h"
#include "tools/commands/stream_output.h"
#include "tools/service/line_feed.h"
#include "tools/service/quarantine.h"
#include "unweave/fields/stream.h"
#include "unweave/ranks.h"

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
[[noreturn]] void refuse(const CommandLine& line, const std::string& name, const PlacedBatch& batch,
                         const Acknowledged& acknowledged) {
  throw RefusedBatch(
      name + ": " + rejected_text(batch, kToldRefused, true) + "; --strict refuses the batch of " +
      counted(batch.decided.requests.size(), "request") +
      (line.has("rejected") ? ", all rejected ones of which are in " + line.get<std::string>("rejected") : "") +
      "; without it they are left out; " + acknowledged.text(true));
}

/// The file of requests; empty where none is read.
std::string input_of(const CommandLine& line) {
  return line.has("requests") ? line.get<std::string>("requests") : "";
}

/// Whether lines do not come from a file, whose reader bounds them.
bool reads_as_it_comes(const CommandLine& line) {
  return line.has("every") || line.get<bool>("follow") || input_of(line) == "-";
}

constexpr const char* kDefaultEvery = "5s";
constexpr std::size_t kRoomRequests = 4096;                  // requests of a batch for which room is made at a time
constexpr std::uint64_t kRoomText = std::uint64_t{1} << 20;  // and bytes of their words

/// Lines as they come, where a batch ends when its first request has waited long enough.
struct Arriving {
  Arriving(const CommandLine& line, RequestWords means, std::uint64_t most_bytes)
      : feed(line.get<std::string>("requests"), line.get<bool>("follow"), most_bytes),
        every(read_duration("every", line.has("every") ? line.get<std::string>("every") : kDefaultEvery)),
        words(std::move(means)),
        quarantine(line.has("quarantine") ? line.get<std::string>("quarantine") : "") {}
  LineFeed feed;
  std::chrono::milliseconds every;
  RequestWords words;
  Quarantine quarantine;
};

/// The requests of the input in batches, and what is printed of each.
class Stream {
 public:
  /// The session is to be closed, whatever becomes of the batches.
  explicit Stream(CommandLine& line);
  void run();

 private:
  void run_arriving();
  void run_expired();
  [[nodiscard]] std::chrono::steady_clock::time_point next_look() const;
  void add(Request request, std::uint64_t place, const std::string& text);
  [[nodiscard]] StreamOptions options();
  void send();
  [[nodiscard]] BatchOutcome send_whole();
  void take_out(const IdConflict& conflict);
  void print(const BatchOutcome& outcome);
  void finish();
  void print_summary() const;
  [[nodiscard]] std::string text(std::size_t i) const;
  [[nodiscard]] std::string acknowledged_before() const;
  [[nodiscard]] std::string all_acknowledged() const;
  [[nodiscard]] std::string input_name() const {
    const std::string name = input_of(line_);
    return name == "-" ? "standard input" : expires_ || name.empty() ? "what has expired" : name;
  }
  [[nodiscard]] PlacedBatch placed(const DecidedBatch& decided) const {
    return {decided, places_, [this](std::size_t i) { return text(i); }};
  }
  [[nodiscard]] bool prints_private() const { return !line_.get<bool>("public"); }

  CommandLine& line_;
  Acknowledged acknowledged_;
  Resources resources_;
  Writer writer_;
  Reservation line_room_;  ///< for a line that does not come from a file
  StreamSession session_;
  std::optional<RequestReader> reader_;
  std::optional<Arriving> arriving_;
  Progress progress_;
  std::optional<RejectedFile> rejected_file_;
  RequestCounts counts_;
  std::uint64_t batch_ = 0;
  bool expires_ = false;  ///< the batch is of what is due, and not of the file
  std::vector<Request> requests_;
  std::uint64_t text_ = 0, room_text_ = 0;  ///< bytes of their words, and for how many there is room
  std::vector<std::uint64_t> places_;       ///< their lines in the file
  /// Requests with a name that nobody has, as they stand there: numbers do not tell it.
  std::unordered_map<std::size_t, std::string> unknown_;
};

/// Requests of the file, where somebody watches their progress and it can be read twice; else 0.
std::uint64_t expected_requests(const CommandLine& line, const Writer& writer) {
  if (!line.shows_progress() || !line.has("requests")) return 0;
  const std::string& file = line.get<std::string>("requests");
  std::error_code error;
  if (file == "-" || !std::filesystem::is_regular_file(file, error)) return 0;
  std::uint64_t count = 0;
  try {
    RequestReader reader(file, request_words(writer));
    for (Request request; reader.next(request);) ++count;
  } catch (const InputError&) {
    return 0;  // which is told when its turn comes
  }
  return count;
}

Stream::Stream(CommandLine& line)
    : line_(line),
      acknowledged_(input_of(line)),
      resources_({line.common().memory_bytes}),
      writer_(line.positional(0), resources_, Ranks::world()),
      line_room_(reads_as_it_comes(line) ? reserve_line(resources_.memory()) : Reservation()),
      session_(writer_, options()),
      progress_(line.error(), line.shows_progress(), "stream", expected_requests(line, writer_), "requests") {
  if (writer_.dropped_bytes() > 0)
    line.note("the journal ended with " + counted(writer_.dropped_bytes(), "byte") +
              " of a batch that was never acknowledged; they are dropped, and no acknowledged request is among them");
  if (!writer_.remark_on_ids().empty() && prints_private()) line.note(writer_.remark_on_ids());
  if (prints_private()) note_remark(line, remark_on_models_left_behind(session_.models_left_behind()));
  if (line.has("every") || line.get<bool>("follow"))
    arriving_.emplace(line, request_words(writer_), most_line_bytes(resources_.memory()));
  else if (line.has("requests"))
    reader_.emplace(line.get<std::string>("requests"), request_words(writer_), most_line_bytes(resources_.memory()));
  if (line.has("rejected")) rejected_file_.emplace(line.get<std::string>("rejected"));
}

StreamOptions Stream::options() {
  StreamOptions options;
  options.mode = read_mode(line_);
  options.plan = read_plan(line_);
  options.strict = line_.get<bool>("strict");
  let_follow(followed_models(line_), options);
  options.adaptive = !line_.get<bool>("non-adaptive");
  options.key = key_file(line_);
  if (line_.has("receipts")) options.receipts = line_.get<std::string>("receipts");
  if (line_.has("changes")) options.changes = line_.get<std::string>("changes");
  options.seed = line_.common().seed;
  options.decided = [this](const DecidedBatch& batch) {
    if (rejected_file_) rejected_file_->add(placed(batch));  // before the batch is acknowledged
    if (batch.refused) refuse(line_, input_name(), placed(batch), acknowledged_);
  };
  options.before_acknowledged = [this] { acknowledged_.begin(); };
  options.acknowledged = [this] {
    if (expires_)
      acknowledged_.end();
    else
      acknowledged_.end(requests_.size(), places_.back());
  };
  return options;
}

std::string Stream::text(std::size_t i) const {
  const auto unknown = unknown_.find(i);
  return unknown == unknown_.end() || unknown->second.empty() ? writer_.names().text_of(requests_[i])
                                                              : printable(unknown->second);
}

/// A request whose id stands for another one is left out where such lines go to a file, and else
/// ends the stream: those before it are applied, and none behind it.
void Stream::take_out(const IdConflict& conflict) {
  const std::size_t at = conflict.index;
  const std::uint64_t place = places_[at];
  const std::string earlier =
      conflict.earlier_in_batch ? "line " + std::to_string(places_[*conflict.earlier_in_batch]) : "";
  const std::string what = text_of(conflict, earlier), line = text(at);
  const bool goes_on = arriving_ && line_.has("quarantine");
  const std::size_t end = goes_on ? at + 1 : requests_.size();
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(at),
                  requests_.begin() + static_cast<std::ptrdiff_t>(end));
  places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(at), places_.begin() + static_cast<std::ptrdiff_t>(end));
  std::unordered_map<std::size_t, std::string> unknown;
  for (auto& [i, words] : unknown_)
    if (i < at || i >= end) unknown.emplace(i < at ? i : i - (end - at), std::move(words));
  unknown_ = std::move(unknown);
  if (!goes_on)
    throw InputError(input_name(), "line " + std::to_string(place), what,
                     "give this request an id of its own; `unweave requests " + shell_word(line_.positional(0)) +
                         " --id " + conflict.id + "` says what became of the other one");
  const BadLine bad{line, what};
  arriving_->quarantine.add({&bad, 1});
}

/// Sends what is collected, without requests that are taken out; nothing may be left.
BatchOutcome Stream::send_whole() {
  while (!requests_.empty()) {
    try {
      return session_.send(requests_);
    } catch (const IdConflictError& error) {
      take_out(error.conflicts.front());
    }
  }
  return {};
}

void Stream::send() {
  if (requests_.empty()) return;
  const BatchOutcome outcome = send_whole();
  if (requests_.empty()) {
    text_ = room_text_ = 0;
    return;
  }
  ++batch_;
  counts_.add(outcome.batch.changes.statuses);
  print(outcome);
  // Nothing is applied that could not be acknowledged.
  if (!line_.out())
    throw ResourceError("cannot write to standard output after batch " + std::to_string(batch_) +
                        ", which is durable; is the disk full?");
  acknowledged_.told();
  requests_.clear();
  text_ = room_text_ = 0;
  places_.clear();
  unknown_.clear();
  session_.settle();
  progress_.advance(outcome.batch.changes.requests);
}

void Stream::print(const BatchOutcome& outcome) {
  const BatchReport& report = outcome.batch;
  const PlacedBatch decided = placed({requests_, report.changes.statuses, outcome.after});
  const std::uint64_t every = line_.get<Count>("evaluate-every").value;
  std::vector<Accuracies> accuracies;
  for (std::size_t i = 0; i < outcome.steps.size() && every > 0 && batch_ % every == 0; ++i)
    accuracies.push_back(session_.accuracies(i));
  progress_.clear();
  acknowledged_.tell();
  const bool follows_expiries = arriving_ && line_.get<bool>("expired");  // and removes what is due by itself
  if (prints_private() && !follows_expiries)
    note_remark(line_, remark_on_past_expiries(requests_, report.changes.statuses, writer_.path()));
  if (prints_private())
    note_remark(line_, remark_on_missing_room(requests_, report.changes.statuses, writer_.nodes(), writer_.path()));
  std::ostream& out = line_.out();
  if (line_.common().json) {
    const nlohmann::ordered_json json =
        json_fields(outcome, BatchScope{batch_, session_.lazy_error_bound(), !prints_private(), std::move(accuracies)});
    if (prints_private())
      write_with_rejections(out, json, decided);
    else
      write_json_line(out, json);
    return;
  }
  out << "batch " << batch_ << ": last request " << report.last_request;
  if (prints_private())
    out << ", applied " << report.changes.applied << ", rejected " << report.changes.rejected
        << (report.changes.rejected > 0 ? " (" + rejected_text(decided, kToldRejected, false) + ")" : "")
        << ", propagation " << seconds_text(report.seconds_propagate) << ", rows "
        << count_text(report.update.rows_touched) << ", arcs " << count_text(report.update.arcs_visited);
  print_models(out, outcome, accuracies, !prints_private());
  out << std::endl;
}

/// Does what the batches have put off, and makes a generation of it.
void Stream::finish() {
  const CloseReport report = session_.close();
  progress_.clear();
  if (line_.common().quiet || !prints_private()) return;  // how much was done tells of removed data
  if (report.update.rows_touched > 0)
    line_.note("the last level brought up to date by " + report.update.plan.back() + ": " +
               counted(report.update.rows_touched, "row") + " in " + number_text(report.seconds) + " s, " +
               number_text(report.update.seconds_predicted) + " s predicted");
  if (report.talk.ranks > 1 && report.talk.traffic.received_bytes > 0)
    line_.note(std::to_string(report.talk.ranks) + " ranks made the generation together, with " +
               bytes_text(report.talk.traffic.received_bytes) + " between them");
}

/// What became of all requests together.
void Stream::print_summary() const {
  if (batch_ == 0 || line_.common().quiet || !prints_private()) return;
  std::string text = "all requests: " + counts_.text();
  if (counts_.rejected() > 0)
    text += line_.has("rejected") ? "; they are in " + line_.get<std::string>("rejected")
                                  : "; --rejected F writes them to a file";
  if (line_.common().json)
    line_.error() << "unweave: " << printable(text) << '\n';
  else
    line_.out() << printable(text) << std::endl;
}

void Stream::add(Request request, std::uint64_t place, const std::string& text) {
  const std::uint64_t batch_size = line_.get<Count>("batch").value;
  const bool is_unknown = request.u == kUnknownName || request.v == kUnknownName;
  text_ += text_bytes({&request, 1}) + (is_unknown ? text.size() : 0);
  if (requests_.size() % kRoomRequests == 0 || text_ > room_text_) {
    const std::uint64_t count = requests_.size() / kRoomRequests * kRoomRequests + kRoomRequests;
    room_text_ = text_ == 0 ? 0 : text_ + std::min(text_, kRoomText);
    session_.make_room(std::min(batch_size, count), room_text_);
  }
  if (is_unknown) unknown_.emplace(requests_.size(), text);
  requests_.push_back(std::move(request));
  places_.push_back(place);
  if (requests_.size() == batch_size) send();
}

/// What is due, a batch at a time: each of it is gone when the next is asked for. A batch that is
/// being collected goes first.
void Stream::run_expired() {
  const std::optional<Millis> until =
      line_.has("until") ? read_time(line_.get<std::string>("until")) : std::optional<Millis>();
  send();
  expires_ = true;
  for (;;) {
    const std::vector<Request> due = session_.expired(until.value_or(present_time()), line_.get<Count>("batch").value);
    if (due.empty()) break;
    for (const Request& request : due) add(request, 0, {});
    send();
  }
  expires_ = false;
}

/// When there is something to do though no line comes.
std::chrono::steady_clock::time_point Stream::next_look() const {
  using std::chrono::milliseconds;
  milliseconds left = std::chrono::hours(1);
  if (line_.get<bool>("expired") && !line_.has("until"))
    if (const auto next = session_.next_expiry())
      left = std::clamp(milliseconds(*next - present_time()), milliseconds(0), left);
  return std::chrono::steady_clock::now() + left;
}

void Stream::run_arriving() {
  using Time = std::chrono::steady_clock;
  Arriving& arriving = *arriving_;
  std::string line;
  Time::time_point due{};  // when the batch that is being collected ends
  for (;;) {
    const bool waits = requests_.empty();
    bool is_cut = false;
    switch (arriving.feed.next(line, waits ? next_look() : std::min(due, next_look()))) {
      case LineFeed::Next::end:
        return;
      case LineFeed::Next::timeout:
        if (Time::now() >= due) send();
        if (line_.get<bool>("expired")) run_expired();
        continue;
      case LineFeed::Next::cut:
        is_cut = true;
        break;
      case LineFeed::Next::line:
        break;
    }
    if (is_skipped_line(line)) continue;
    RequestFault fault;
    std::optional<Request> request;
    if (is_cut)
      fault = {"its end is missing, and it may be a part of a line",
               "end every line with a line feed; it was not applied"};
    else
      request = parse_request(line, arriving.words, &fault);
    if (!request && !line_.has("quarantine"))
      throw InputError(input_name(), "line " + std::to_string(arriving.feed.number()), text_of(fault, line),
                       fault.remedy);
    if (!request) {
      const BadLine bad{line, "not a request: " + fault.what};
      arriving.quarantine.add({&bad, 1});
      continue;
    }
    if (requests_.empty()) due = Time::now() + arriving.every;
    add(*std::move(request), arriving.feed.number(), line);
    if (!requests_.empty() && Time::now() >= due) send();
  }
}

/// What an error has to add where earlier batches are in the journal: that their requests need not
/// be sent again. Empty where nothing was acknowledged.
std::string Stream::acknowledged_before() const {
  return acknowledged_.requests() == 0 ? "" : "; " + acknowledged_.text(false);
}

/// What an error at the end has to add: its remedy, the command again, would send every request
/// once more.
std::string Stream::all_acknowledged() const {
  if (acknowledged_.requests() == 0) return "";
  return "; send no request of " + input_name() +
         " again, even where the command is to be run again: all of them are acknowledged, and any command that " +
         "writes the store does what is left";
}

void Stream::run() {
  Request request;
  try {
    if (line_.get<bool>("expired")) run_expired();
    if (arriving_) {
      run_arriving();
    } else if (reader_) {
      while (reader_->next(request)) add(std::move(request), reader_->number(), reader_->text());
    }
    send();
  } catch (const RefusedBatch&) {
    finish();
    print_summary();
    throw;
  } catch (const InputError& error) {
    // What came before the bad line was asked for in good order; --strict rejects it with its
    // batch.
    if (!line_.get<bool>("strict")) send();
    finish();
    print_summary();
    throw DataError(error.message() + "; " + acknowledged_.text(true));
  } catch (const DataError& error) {
    throw DataError(error.message() + acknowledged_before());
  } catch (const ResourceError& error) {
    throw ResourceError(error.message() + acknowledged_before());
  }
  acknowledged_.finish();
  try {
    finish();
  } catch (const ResourceError& error) {
    print_summary();
    throw ResourceError(error.message() + all_acknowledged());
  }
  print_summary();
  if (batch_ == 0 && !line_.common().quiet)
    line_.error() << "unweave: "
                  << (line_.has("requests") ? printable(input_name()) + " holds no requests" : "nothing has expired")
                  << (session_.caught_up() ? "; the model is brought up to date with those before" : "") << '\n';
}

}  // namespace

void run_stream(CommandLine& line) {
  line.describe("Applies requests in order, in batches; one line a batch when it is durable.\n\n" + request_table(),
                {"STORE"}, "echo 'edge 12 34' | unweave stream demo/debian.store --requests -");
  auto add = line.options().add_options();
  add("requests", po::value<std::string>()->value_name("F"),
      "(required, but for --expired) file of `edge U V`, `node U`, `feature U`, each with `expires T` behind it or not, `insert-edge U "
      "V`, `insert-edge U V weight W`, `set-weight U V W`, "
      "`insert-node U V1 .. VF`, `set-feature U V1 .. VF`, `set-label U C`, `move-split U S`, in a store of graphs "
      "`graph G` (`expires T`), `set-graph-label G C`, `move-graph-split G S`, each with id=NAME behind it or not; - for standard input");
  add("expired", po::bool_switch(),
      "first remove the edges, nodes, features and whole graphs whose time has come (`edge U V expires T`), as "
      "requests of their own, which bear the ids of those that said so; with --follow whenever one comes");
  add("until", po::value<std::string>()->value_name("TIME"),
      "with --expired: remove what is to go by TIME, as 2027-01-31 or 2027-01-31T12:00:00Z; without it, by now");
  add("batch", po::value<Count>()->value_name("K")->default_value({100}), "requests a batch");
  add("every", po::value<std::string>()->value_name("TIME"),
      "a batch also ends when its first request has waited so long: 500ms, 5s, 2min; 5s with --follow");
  add("follow", po::bool_switch(),
      "the end of F is not the end: wait for lines that are added to a file, for a new file of its name, or for the "
      "next writer of a named pipe, until Ctrl-C; give requests an id=, since a later run reads a file from its beginning");
  add("quarantine", po::value<std::string>()->value_name("Q"),
      "with --every or --follow: lines that are no requests go to Q, with time and reason, and the others go on");
  add("r-max", po::value<Real>()->value_name("R"), "lazy: leave residues up to R unpublished; without it exact");
  add("r-max-scale", po::value<std::string>()->value_name("S"),
      "paper: R of features scaled to |D^1/2 x|_1 = 1; code: R times the mean column 1-norm; else absolute");
  line.set_choices("plan", {"auto", "push", "recompute"});
  add("plan", po::value<std::string>()->value_name("P")->default_value("auto"),
      "auto, push or recompute: how levels follow a batch; auto takes what seems cheaper, all give the same bits");
  add("strict", po::bool_switch(), "refuse the whole batch of a request that is rejected, name them all, and stop");
  add("rejected", po::value<std::string>()->value_name("F"),
      "append to F every rejected request with its reason and its number in the store, tabs between");
  add_follow_options(line);
  add("evaluate-every", po::value<Count>()->value_name("K")->default_value({1}),
      "accuracy after every K-th batch, with --solver; 0: never");
  add("receipts", po::value<std::string>()->value_name("F"),
      "with --solver: append to F, for every request, a line that proves to its sender that the batch's certificate "
      "covers it (verify --receipts); give each sender his own lines; what a crash kept from F comes with the next "
      "stream that names F; of several models each has F.NAME");
  add("changes", po::value<std::string>()->value_name("DIR"),
      "folder that follows the embedding: after each batch the rows that changed, as .npy, for an index of vectors "
      "(algorithms/live/change_feed.h)");
  add("non-adaptive", po::bool_switch(),
      "no request was chosen after looking at a release: certificates may assume it, and langevin runs fewer epochs");
  add("public", po::bool_switch(), "print only what may be published");
  add_key_option(line);
  add_local_option(line);
  if (!line.parse()) return;
  line.on_interrupt("`unweave info " + shell_word(line.positional(0)) + "` says how many requests are acknowledged");
  const bool has_models = !followed_models(line).empty();
  if (!has_models && line.given("evaluate-every"))
    line.note(
        "--evaluate-every evaluates models that follow the stream, and none does: --solver or --name lets one follow");
  for (const char* option : {"receipts", "key"})
    if (line.has(option) && !has_models)
      throw UsageError("--" + std::string(option) +
                       " needs --solver or --name: without a model there is no certificate");
  for (const char* option : {"receipts", "rejected", "changes", "quarantine"})
    line.require_outside(option, line.positional(0));
  if (line.has("rejected") && line.get<std::string>("rejected") == "-")
    throw UsageError("--rejected: name a file; on standard output --json has the list");
  if (line.has("receipts") && line.get<std::string>("receipts") == "-")
    throw UsageError("--receipts: name a file; it is durable before the batch's line is printed");
  if (line.has("rejected") && line.has("receipts") &&
      line.get<std::string>("rejected") == line.get<std::string>("receipts"))
    throw UsageError("--rejected and --receipts: name two files");

  if (line.get<Count>("batch").value == 0) throw UsageError("--batch must be at least 1");
  if (!line.has("requests") && !line.get<bool>("expired")) throw UsageError("--requests or --expired is missing");
  if (line.has("until") && !line.get<bool>("expired")) throw UsageError("--until goes with --expired");
  if (line.has("until") && !read_time(line.get<std::string>("until")))
    throw UsageError("--until must be a moment, as 2027-01-31 or 2027-01-31T12:00:00Z");
  if (!line.has("requests") && (line.has("every") || line.get<bool>("follow")))
    throw UsageError("--every and --follow need --requests");
  if (line.has("every")) static_cast<void>(read_duration("every", line.get<std::string>("every")));
  if (line.has("quarantine") && !line.has("every") && !line.get<bool>("follow"))
    throw UsageError(
        "--quarantine goes with --every or --follow; without them a line that is no request ends the stream");
  static_cast<void>(read_mode(line));  // what is wrong is told before the store is opened
  static_cast<void>(read_plan(line));
  Ranks& ranks = Ranks::world();
  const std::unique_ptr<const LocalLists> lists = local_lists(line);
  if (!ranks.first()) {
    Resources resources({line.common().memory_bytes});
    return follow_stream(line.positional(0), resources, ranks);
  }
  Stream(line).run();
}

}  // namespace unweave
