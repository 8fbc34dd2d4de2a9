// tools/service/http_service.cpp - the routes of the service and the forms of its answers.
#include "tools/service/http_service.h"

#include <httplib.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <utility>

#include "storage/formats/request_log.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"
#include "storage/io/store_folders.h"
#include "tools/cli/message_style.h"
#include "tools/service/quarantine.h"
#include "unweave/requests.h"
#include "unweave/rows.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBody = std::size_t{16} << 20;  // bytes of a call
constexpr std::size_t kMostPredicted = 10'000;            // nodes of a call
constexpr int kBadRequest = 400, kUnauthorized = 401, kNotFound = 404, kTooLarge = 413, kServerError = 500,
              kUnavailable = 503;

void answer(httplib::Response& response, const Json& json, int status = 200) {
  response.status = status;
  response.set_content(json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n', "application/json");
}

void answer_error(httplib::Response& response, const std::string& error, int status) {
  answer(response, {{"error", error}}, status);
}

/// Takes as long for any two texts of one length.
bool is_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

/// An id for a request to which its sender gave none: 128 random bits.
std::string drawn_id() {
  thread_local std::random_device device;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id = "u-";
  for (int word = 0; word < 4; ++word)
    for (std::uint32_t bits = device(), i = 0; i < 8; ++i, bits >>= 4) id += kDigits[bits & 15];
  return id;
}

/// The lines of a call.
std::vector<std::string> lines_of(bool is_json, const std::string& body) {
  std::vector<std::string> lines;
  if (is_json) {
    const Json json = parse_json<Json>(body);
    for (const Json& line : json.at("requests")) lines.push_back(line.get<std::string>());
    return lines;
  }
  std::string_view rest = body;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] != '#') lines.emplace_back(line);
  }
  return lines;
}

Json json_of(const std::string& id, const RequestState& state) {
  Json json = {{"id", id}, {"sequence", state.sequence}, {"state", "acknowledged"}};
  if (!state.applied) return json;
  const bool applied = state.status == "applied";
  json["state"] = applied ? "applied" : "rejected";
  if (!applied) json["reason"] = state.status;
  json["batch"] = state.batch;
  return json;
}

/// Counts as Prometheus reads them.
std::string metrics_text(const IntakeCounts& counts, bool ready) {
  prometheus::Registry registry;
  const auto counter = [&](const char* name, const char* help, double value) {
    prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({}).Increment(value);
  };
  const auto gauge = [&](const char* name, const char* help, double value) {
    prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({}).Set(value);
  };
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  counter("unweave_requests_acknowledged_total", "Requests made durable", number(counts.acknowledged));
  auto& decided = prometheus::BuildCounter()
                      .Name("unweave_requests_decided_total")
                      .Help("Requests applied or rejected")
                      .Register(registry);
  decided.Add({{"status", "applied"}}).Increment(number(counts.applied));
  decided.Add({{"status", "rejected"}}).Increment(number(counts.rejected));
  counter("unweave_syncs_total", "Groups of requests made durable by one sync", number(counts.groups));
  counter("unweave_sync_seconds_total", "Time that these took", counts.sync_seconds);
  counter("unweave_batches_total", "Batches applied", number(counts.batches));
  counter("unweave_batch_seconds_total", "Time that these took, the model included", counts.batch_seconds);
  gauge("unweave_requests_waiting", "Requests acknowledged and not applied", number(counts.waiting));
  gauge("unweave_ready", "1 while requests are taken", ready ? 1 : 0);
  return prometheus::TextSerializer().Serialize(registry.Collect());
}

/// Nodes with commas between, as users call them. Throws UsageError for a word that is none.
std::vector<NodeId> read_nodes(std::string_view text, const Reader& reader) {
  std::vector<NodeId> nodes;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    std::uint64_t node = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), node);
    if (reader.names().given())
      node = reader.names().number(word);
    else if (error != std::errc() || end != word.data() + word.size())
      node = kUnknownName;
    if (node >= reader.nodes()) throw UsageError("no node is called " + quote_for_message(word));
    nodes.push_back(static_cast<NodeId>(node));
  }
  return nodes;
}

}  // namespace

std::optional<ListenAddress> read_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  ListenAddress address;
  if (text.starts_with(kUnix)) {
    address.socket = text.substr(kUnix.size());
    return address.socket.empty() ? std::nullopt : std::optional(address);
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 || address.port > 65535)
    return std::nullopt;
  address.host = host == "localhost" ? "127.0.0.1" : host;
  return address;
}

struct HttpService::Impl {
  Impl(const fs::path& path, Intake& requests, Resources& memory, ReadLine read, HttpOptions how)
      : store(path),
        intake(requests),
        resources(memory),
        read_line(std::move(read)),
        options(std::move(how)),
        quarantine(options.quarantine) {
    server.new_task_queue = [this] { return new httplib::ThreadPool(options.threads); };
    server.set_payload_max_length(kMostBody);
    server.set_tcp_nodelay(true);
    server.set_keep_alive_max_count(1'000'000);
    server.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr error) {
      try {
        std::rethrow_exception(std::move(error));
      } catch (const BusyError& busy) {
        response.set_header("Retry-After", "1");
        answer_error(response, busy.message(), kUnavailable);
      } catch (const Error& known) {
        answer_error(response, command_text(known.message()), kServerError);
      } catch (const std::exception& unknown) {
        answer_error(response, unknown.what(), kServerError);
      }
    });
    server.set_error_handler(httplib::Server::Handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty())
        answer_error(response,
                     response.status == kNotFound ? "there is no such call; see `unweave serve --help`"
                                                  : "the call cannot be read",
                     response.status);
    }));
    server.set_pre_routing_handler([this](const httplib::Request& call, httplib::Response& response) {
      if (is_allowed(call)) return httplib::Server::HandlerResponse::Unhandled;
      response.set_header("WWW-Authenticate", "Bearer");
      answer_error(response, "a token is needed: the header `Authorization: Bearer TOKEN`", kUnauthorized);
      return httplib::Server::HandlerResponse::Handled;
    });
    add_routes();
    take_address();
  }

  ~Impl() {
    if (!options.address.socket.empty()) ::unlink(options.address.socket.c_str());
  }

  [[nodiscard]] bool is_allowed(const httplib::Request& call) const {
    if (options.tokens.empty() || call.path == "/ready") return true;
    constexpr std::string_view kBearer = "Bearer ";
    const std::string given = call.get_header_value("Authorization");
    if (!given.starts_with(kBearer)) return false;
    bool found = false;
    for (const std::string& token : options.tokens)
      found |= is_equal(std::string_view(given).substr(kBearer.size()), token);
    return found;
  }

  void take_address() {
    const ListenAddress& address = options.address;
    if (address.socket.empty()) {
      const int port = address.port == 0 ? server.bind_to_any_port(address.host)
                                         : (server.bind_to_port(address.host, address.port) ? address.port : -1);
      if (port < 0)
        throw UsageError(option("listen") + ": " + address.host + ":" + std::to_string(address.port) +
                         " cannot be had; another program may have it");
      const bool is_v6 = address.host.find(':') != std::string::npos;
      location = "http://" + (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(port);
      return;
    }
    // A socket that a killed service left goes; one that answers is another service's.
    struct stat found {};
    if (::stat(address.socket.c_str(), &found) == 0) {
      httplib::Client other(address.socket.string());
      other.set_address_family(AF_UNIX);
      other.set_connection_timeout(1);
      if (!S_ISSOCK(found.st_mode) || other.Get("/ready"))
        throw UsageError(option("listen") + ": " + address.socket.string() +
                         (S_ISSOCK(found.st_mode) ? " is another service's" : " is no socket"));
      ::unlink(address.socket.c_str());
    }
    const mode_t mask = ::umask(S_IRWXG | S_IRWXO);  // it is for its owner alone
    server.set_address_family(AF_UNIX);
    const bool bound = server.bind_to_port(address.socket.string(), 80);  // a number that nobody looks at
    ::umask(mask);
    if (!bound) throw UsageError(option("listen") + ": " + address.socket.string() + " cannot be made");
    location = address.socket.string();
  }

  void add_routes() {
    // Read here, since the library takes a body for a form where the sender does not say what it is, and cuts it off early.
    server.Post("/requests",
                [this](const httplib::Request& call, httplib::Response& response, const httplib::ContentReader& read) {
                  std::string body;
                  const bool whole = read([&](const char* data, std::size_t bytes) {
                    body.append(data, bytes);
                    return body.size() <= kMostBody;
                  });
                  if (!whole)
                    return answer_error(response, "the body has more than 16 MiB, or ended too early", kTooLarge);
                  take(call.get_header_value("Content-Type").starts_with("application/json"), body, response);
                });
    server.Get(R"(/requests/([^/]+))",
               [this](const httplib::Request& call, httplib::Response& response) { tell(call.matches[1], response); });
    server.Get(R"(/receipts/([^/]+))", [this](const httplib::Request& call, httplib::Response& response) {
      tell_receipt(call.matches[1], response);
    });
    server.Get(R"(/certificates/([A-Za-z0-9_-]+))", [this](const httplib::Request& call, httplib::Response& response) {
      tell_certificates(call.matches[1], response);
    });
    server.Get("/predict",
               [this](const httplib::Request& call, httplib::Response& response) { predict(call, response); });
    server.Get("/status", [this](const httplib::Request&, httplib::Response& response) {
      const IntakeCounts counts = intake.counts();
      answer(response, {{"ready", intake.ready()},
                        {"acknowledged", counts.acknowledged},
                        {"applied", counts.applied},
                        {"rejected", counts.rejected},
                        {"waiting", counts.waiting},
                        {"batches", counts.batches}});
    });
    server.Get("/ready", [this](const httplib::Request&, httplib::Response& response) {
      const bool ready = intake.ready();
      answer(response, {{"ready", ready}}, ready ? 200 : kUnavailable);
    });
    server.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics_text(intake.counts(), intake.ready()), "text/plain; version=0.0.4");
    });
  }

  void take(bool is_json, const std::string& body, httplib::Response& response) {
    if (!is_json && body.starts_with('{'))
      return answer_error(response, "a body of JSON needs the header Content-Type: application/json", kBadRequest);
    std::vector<std::string> lines;
    try {
      lines = lines_of(is_json, body);
    } catch (const std::exception& error) {
      return answer_error(
          response, std::string("the body is no object with a list `requests` of lines: ") + error.what(), kBadRequest);
    }
    std::vector<Request> requests;
    std::vector<BadLine> bad;
    Json refused = Json::array();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      RequestFault fault;
      std::optional<Request> request = read_line(lines[i], fault);
      if (request) {
        if (request->id.empty()) request->id = drawn_id();
        requests.push_back(*std::move(request));
        continue;
      }
      const std::string reason = "not a request: " + fault.what;
      bad.push_back({lines[i], reason});
      refused.push_back({{"line", i + 1}, {"text", lines[i].substr(0, 200)}, {"reason", reason}});
    }
    quarantine.add(bad);
    Json taken = Json::array();
    if (!requests.empty()) {
      std::vector<std::string> ids;
      ids.reserve(requests.size());
      for (const Request& request : requests) ids.push_back(request.id);
      const Acknowledgement answer = intake.submit(std::move(requests));
      for (std::size_t i = 0; i < ids.size(); ++i) {
        taken.push_back({{"id", ids[i]}, {"sequence", answer.last - ids.size() + 1 + i}});
        if (answer.known[i]) taken.back()["known"] = true;
      }
    }
    const bool none = taken.empty();
    Json json = {{"acknowledged", std::move(taken)}, {"refused", std::move(refused)}};
    if (none)
      json["error"] = lines.empty() ? "there is no request in the body" : "there is no request that can be read";
    answer(response, json, none ? kBadRequest : 200);
  }

  void tell(const std::string& id, httplib::Response& response) {
    const std::optional<RequestState> state = intake.find(id);
    if (state && !state->applied) return answer(response, json_of(id, *state));
    std::optional<RequestRecord> found;
    visit_logged_requests(store, id, [&](const RequestRecord& record) { found = record; });
    if (!found && state) return answer(response, json_of(id, *state));
    if (!found) return answer_error(response, "no request has this id", kNotFound);
    Json json = {{"id", id},
                 {"sequence", found->sequence},
                 {"state", found->status == "applied" ? "applied" : "rejected"},
                 {"kind", found->kind},
                 {"time", time_text(found->time)}};
    if (found->status != "applied") json["reason"] = found->status;
    if (state && state->sequence == found->sequence) json["batch"] = state->batch;  // not that of a repetition
    Json certificates = Json::array();
    for (const CoveringCertificate& one : found->certificates)
      certificates.push_back({{"model", one.model}, {"number", one.number}, {"id", one.release}, {"time", one.time}});
    json["certificates"] = std::move(certificates);
    json["waiting"] = found->waiting;
    json["purged"] = found->purged;
    answer(response, json);
  }

  void tell_receipt(const std::string& id, httplib::Response& response) {
    if (options.receipts.empty()) return answer_error(response, "this service writes no receipts", kNotFound);
    const std::string word = " id=" + id + " ";
    std::string found;
    static_cast<void>(read_lines(options.receipts, [&](std::string_view line, std::uint64_t) {
      if (found.empty() && line.find(word) != std::string_view::npos) found = line;
    }));
    if (found.empty()) return answer_error(response, "no receipt has this id yet", kNotFound);
    response.set_content(found + '\n', "application/json");
  }

  void tell_certificates(const std::string& model, httplib::Response& response) {
    const fs::path log = store / kCertificatesFolder / (model + ".jsonl");
    std::string text;
    if (fs::exists(log))
      static_cast<void>(read_lines(log, [&](std::string_view line, std::uint64_t) { text.append(line) += '\n'; }));
    if (text.empty()) return answer_error(response, "there is no certificate of this model", kNotFound);
    response.set_content(text, "application/x-ndjson");
  }

  void predict(const httplib::Request& call, httplib::Response& response) {
    const std::scoped_lock lock(predicting);  // each takes the memory of a reader
    ModelSelection selection;
    if (call.has_param("model")) selection.name = call.get_param_value("model");
    try {
      const StoredModel model = read_model(store, selection);
      const Reader reader(store, resources);
      const std::optional<std::vector<NodeId>> nodes = read_nodes(call.get_param_value("nodes"), reader);
      if (nodes->empty() || nodes->size() > kMostPredicted)
        return answer_error(response, "nodes=1,2,3 is needed: up to 10,000 nodes", kBadRequest);
      Json predictions = Json::array();
      const std::size_t classes = model.facts().classes;
      score_nodes(reader, model, nodes, [&](std::span<const std::int64_t> ids, std::span<double> margins) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const auto row = margins.subspan(i * classes, classes);
          const auto best = std::max_element(row.begin(), row.end());
          const auto node = static_cast<std::uint64_t>(ids[i]);
          predictions.push_back({{"id", reader.names().given() ? Json(reader.names().text(node)) : Json(node)},
                                 {"class", best - row.begin()},
                                 {"score", *best}});
        }
      });
      answer(response,
             {{"model", model.name()}, {"sequence", model.facts().sequence}, {"predictions", std::move(predictions)}});
    } catch (const UsageError& error) {
      answer_error(response, command_text(error.message()), kBadRequest);
    }
  }

  const fs::path store;
  Intake& intake;
  Resources& resources;
  ReadLine read_line;
  const HttpOptions options;
  Quarantine quarantine;
  std::mutex predicting;
  httplib::Server server;
  std::string location;
};

HttpService::HttpService(const fs::path& store, Intake& intake, Resources& resources, ReadLine read_line,
                         HttpOptions options)
    : impl_(std::make_unique<Impl>(store, intake, resources, std::move(read_line), std::move(options))) {}
HttpService::~HttpService() = default;

const std::string& HttpService::location() const noexcept {
  return impl_->location;
}

void HttpService::run() {
  impl_->server.listen_after_bind();
}

void HttpService::stop() {
  impl_->server.stop();
}

}  // namespace unweave
