// tools/python/bindings/stream.cpp - a writer and its session as a class of Python, and its
// requests in all their forms.
#include "bindings/stream.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "bindings/options.h"
#include "bindings/reports.h"
#include "bindings/work.h"

namespace unweave::python {

std::vector<Request> requests_of(const std::vector<std::string>& lines, const RequestWords& words) {
  std::vector<Request> requests;
  requests.reserve(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      requests.push_back(request_of_line(lines[i], words));
    } catch (const UsageError& error) {
      throw UsageError("request " + std::to_string(i) + ": " + error.message());
    }
  }
  return requests;
}

namespace {

using Path = std::filesystem::path;

RequestKind kind_named(const std::string& name) {
  if (name == "edge") return RequestKind::remove_edge;
  if (name == "node") return RequestKind::remove_node;
  if (name == "feature") return RequestKind::remove_feature;
  if (name == "insert-edge") return RequestKind::insert_edge;
  if (name == "graph") return RequestKind::remove_graph;
  throw UsageError("'" + name +
                   "' is no kind of request; there are edge, node, feature, insert-edge, insert-node, set-feature, " +
                   "set-label, set-weight, move-split, graph, set-graph-label and move-graph-split");
}

Plan plan_named(const std::string& name) {
  if (name == "auto") return Plan::automatic;
  if (name == "push") return Plan::push;
  if (name == "recompute") return Plan::recompute;
  throw UsageError(option("plan") + " must be auto, push or recompute");
}

/// A writer and its session.
class Stream {
 public:
  Stream(std::shared_ptr<Machine> machine, const py::object& progress, const Path& store, const py::dict& options)
      : machine_(std::move(machine)) {
    StreamOptions how;
    how.mode.r_max = taken_or(options, "r_max", 0.0);
    how.plan = plan_named(taken_or<std::string>(options, "plan", "auto"));
    how.strict = taken_or(options, "strict", false);
    how.model = model_selection(options);
    for (const py::handle one : taken_or(options, "more_models", py::list()))
      how.more_models.push_back(model_selection(one.cast<py::dict>()));
    how.adaptive = taken_or(options, "adaptive", true);
    how.key = taken_or(options, "key", Path());
    how.receipts = taken_or(options, "receipts", Path());
    how.changes = taken_or(options, "changes", Path());
    run(*machine_, progress, [&] {
      writer_.emplace(store, machine_->resources());
      words_ = request_words(*writer_);
      session_.emplace(*writer_, std::move(how));
    });
    warn_of({remark_on_models_left_behind(session_->models_left_behind())});
  }
  ~Stream() {
    const py::gil_scoped_release released;
    session_.reset();
    writer_.reset();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Writer and session are for the machine's turn alone, in which another thread may take them
  // away; so are names, which the writer has.

  /// Requests of one kind after another: names of kinds, and as many ids u and v.
  py::dict send(const std::vector<std::string>& kinds, const std::vector<std::uint64_t>& u,
                const std::vector<std::uint64_t>& v) {
    require_as_long(kinds, u, v);
    return send_made([&] {
      std::vector<Request> requests;
      requests.reserve(kinds.size());
      for (std::size_t i = 0; i < kinds.size(); ++i) requests.push_back({kind_named(kinds[i]), u[i], v[i]});
      return requests;
    });
  }
  /// Whether the nodes of the store have names.
  bool named() {
    bool given = false;
    run_whole(*machine_, [&] {
      static_cast<void>(open());
      given = writer_->names().given();
    });
    return given;
  }
  /// Whether its classes have.
  bool named_classes() {
    bool given = false;
    run_whole(*machine_, [&] {
      static_cast<void>(open());
      given = words_.classes->given();
    });
    return given;
  }
  /// Kinds of edges; none where there is one.
  std::vector<std::string> relations() {
    run_whole(*machine_, [&] { static_cast<void>(open()); });
    return words_.relations;
  }
  /// As send(), with words as users write them.
  py::dict send_names(const std::vector<std::string>& kinds, const std::vector<std::string>& u,
                      const std::vector<std::string>& v) {
    require_as_long(kinds, u, v);
    return send_made([&] {
      const NodeNames& names = writer_->names();
      std::vector<Request> requests;
      requests.reserve(kinds.size());
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        // A text is a name, whatever it looks like, but for # and a number.
        const auto read = [&](const std::string& word) {
          return word.starts_with('#') ? names.read(word) : NodeWord{names.find(word), true};
        };
        const NodeWord one = read(u[i]), other = read(v[i]);
        requests.push_back({kind_named(kinds[i]), one.id, other.id, {}, {}, one.by_name, other.by_name});
      }
      return requests;
    });
  }
  /// Requests as lines of a file of requests.
  py::dict send_lines(const std::vector<std::string>& lines) {
    return send_made([&] { return requests_of(lines, words_); });
  }
  py::dict send_all(const std::string& kind, const py::array_t<std::uint64_t, py::array::c_style>& ids) {
    const RequestKind what = kind_named(kind);
    const bool pairs = what == RequestKind::remove_edge || what == RequestKind::insert_edge;
    if (pairs ? ids.ndim() != 2 || ids.shape(1) != 2 : ids.ndim() != 1)
      throw UsageError(pairs ? "edges must be an array of shape (m, 2)" : "nodes must be an array of one dimension");
    std::vector<Request> requests(static_cast<std::size_t>(ids.shape(0)));
    const std::uint64_t* const from = ids.data();
    for (std::size_t i = 0; i < requests.size(); ++i)
      requests[i] = pairs ? Request{what, from[2 * i], from[2 * i + 1]} : Request{what, from[i], 0};
    return send_made([&] { return std::move(requests); });
  }

  /// A batch of removals of edges whose time has come by `until`, by now where it is empty; nothing
  /// where there is none.
  py::dict send_expired(const std::string& until, std::size_t most) {
    const std::optional<Millis> moment = until.empty() ? present_time() : read_time(until);
    if (!moment) throw UsageError("until must be a moment, as 2027-01-31 or 2027-01-31T12:00:00Z");
    return send_made([&] { return open().expired(*moment, most); }, Empty::is_nothing);
  }

  py::dict close() {
    CloseReport report;
    run_whole(*machine_, [&] {
      if (!session_) return;
      report = session_->close();
      session_.reset();
      writer_.reset();
    });
    return py::dict(py::arg("seconds") = report.seconds, py::arg("rows_touched") = report.update.rows_touched);
  }
  /// Leaves what is durable to the next session, as a crash would.
  void abandon() {
    run_whole(*machine_, [&] {
      session_.reset();
      writer_.reset();
    });
  }
  py::dict accuracies() {
    Accuracies found;
    run_whole(*machine_, [&] { found = open().accuracies(); });
    return dict_of(found);
  }

 private:
  enum class Empty { is_batch, is_nothing };

  template <class Ids>
  static void require_as_long(const std::vector<std::string>& kinds, const Ids& u, const Ids& v) {
    if (kinds.size() != u.size() || kinds.size() != v.size()) throw UsageError("kinds, u and v must be as long");
  }
  StreamSession& open() {
    if (!session_) throw UsageError("the stream is closed; open another one");
    return *session_;
  }
  /// Sends what `make` returns, which it does in the machine's turn.
  template <class Make>
  py::dict send_made(const Make& make, Empty empty = Empty::is_batch) {
    BatchOutcome outcome;
    std::optional<double> lazy_error;
    std::uint64_t batch = 0;
    std::string remark, room;
    run_whole(*machine_, [&] {
      static_cast<void>(open());
      const std::vector<Request> requests = make();
      if (requests.empty() && empty == Empty::is_nothing) return;
      outcome = open().send(requests);
      const std::vector<RequestStatus>& decided = outcome.batch.changes.statuses;
      if (!outcome.refused) remark = remark_on_past_expiries(requests, decided, writer_->path());
      if (!outcome.refused) room = remark_on_missing_room(requests, decided, writer_->nodes(), writer_->path());
      lazy_error = open().lazy_error_bound();
      batch = ++batches_;
    });
    if (batch == 0) return {};
    py::dict out = dict_of(outcome, BatchScope{batch, lazy_error});
    // What the command says by its exit code, and by a line for each rejected request.
    out["refused"] = outcome.refused;
    py::list statuses;
    for (const RequestStatus status : outcome.batch.changes.statuses) statuses.append(name_of(status));
    out["statuses"] = statuses;
    warn_of({remark, room});
    return out;
  }

  std::shared_ptr<Machine> machine_;
  std::optional<Writer> writer_;
  RequestWords words_;  ///< which ask the writer
  std::optional<StreamSession> session_;
  std::uint64_t batches_ = 0;
};

}  // namespace

void define_stream(py::module_& module) {
  py::class_<Stream>(module, "Stream")
      .def(py::init<std::shared_ptr<Machine>, const py::object&, const Path&, const py::dict&>())
      .def("send", py::overload_cast<const std::vector<std::string>&, const std::vector<std::uint64_t>&,
                                     const std::vector<std::uint64_t>&>(&Stream::send))
      .def("send_lines", &Stream::send_lines)
      .def("send_all", &Stream::send_all)
      .def("send_expired", &Stream::send_expired)
      .def("send_names", &Stream::send_names)
      .def("named", &Stream::named)
      .def("named_classes", &Stream::named_classes)
      .def("relations", &Stream::relations)
      .def("close", &Stream::close)
      .def("abandon", &Stream::abandon)
      .def("accuracies", &Stream::accuracies);
}

}  // namespace unweave::python
