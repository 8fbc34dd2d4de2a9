// tools/service/http_service.h - the service of a store by HTTP and JSON, on a Unix socket or a
// port.
//
//   POST /requests      lines as `stream --requests` takes them (content type text/x-unweave), or
//                       {"requests": ["edge 1 2 id=T7", ...]} (application/json); answers when they
//                       are durable; `known` says of one that an earlier one has its id, and counts
//   GET  /requests/ID   what became of one
//   POST /purge         erases what was removed from every byte of the store ({},
//                       application/json); answers when it is done
//   GET  /receipts/ID[?model=NAME]   its receipt, where the service writes receipts
//   GET  /certificates/MODEL   the public lines of a model
//   GET  /predict?nodes=1,2[&model=NAME]
//   GET  /status        counts;   GET /ready: 200 while requests are taken, else 503;   GET /metrics: for Prometheus
//   GET  /[?find=TEXT]  a page for people (officer_page.h): what waits, what is done, what is not purged; an id or a name
//   POST /login, /logout   forms of that page (application/x-www-form-urlencoded): a token for a
//                          cookie, which opens the page alone
//
// Every answer but those of /certificates, /metrics and the page is a JSON object; one that tells
// of an error has the member `error`. Who may call is in callers.h, how many and how slowly in
// http_transport.h.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/request_reader.h"
#include "tools/service/intake.h"
#include "tools/service/listener.h"
#include "unweave/store.h"

namespace unweave {

struct HttpOptions {
  ListenAddress address;
  std::vector<std::string> hosts;    ///< by which names it is called, beside its address (callers.h)
  std::vector<std::string> tokens;   ///< one of them must come with every call but /ready; empty: none need
  std::filesystem::path receipts;    ///< file that the session writes receipts to; empty: none
  std::vector<std::string> models;   ///< names of the models that follow
  std::filesystem::path quarantine;  ///< file that lines go to which are no requests; empty: they are only answered
};

class HttpService {
 public:
  /// Reads the line of a request; none where it has another form, of which `fault` tells then.
  using ReadLine = std::function<std::optional<Request>(std::string_view line, RequestFault& fault)>;

  /// Memory for the calls of all callers, a share of the budget. Throws ResourceError.
  [[nodiscard]] static Reservation reserve_calls(MemoryBudget& budget);

  /// Takes the address. The intake and the resources outlive the service, which reads predictions
  /// in what memory they have left. Throws UsageError where the address cannot be had.
  HttpService(const std::filesystem::path& store, Intake& intake, Resources& resources, Reservation calls,
              ReadLine read_line, HttpOptions options);
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;
  ~HttpService();

  /// What a client writes before a path: "http://127.0.0.1:8080", or the path of the socket.
  [[nodiscard]] const std::string& location() const noexcept;
  /// Answers calls until stop(), which any thread may call.
  void run();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace unweave
