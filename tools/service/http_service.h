// tools/service/http_service.h - the service of a store by HTTP and JSON, on a Unix socket or a port.
//
//   POST /requests      lines as `stream --requests` takes them, or {"requests": ["edge 1 2 id=T7", ...]}; answers when they are
//                       durable; `known` says of one that an earlier one has its id, and counts
//   GET  /requests/ID   what became of one
//   GET  /receipts/ID   its receipt, where the service writes receipts
//   GET  /certificates/MODEL   the public lines of a model
//   GET  /predict?nodes=1,2[&model=NAME]
//   GET  /status        counts;   GET /ready: 200 while requests are taken, else 503;   GET /metrics: for Prometheus
//
// Every answer but those of /certificates and /metrics is a JSON object; one that tells of an error has the member `error`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/request_reader.h"
#include "tools/service/intake.h"
#include "unweave/store.h"

namespace unweave {

/// Where a service listens.
struct ListenAddress {
  std::filesystem::path socket;  ///< a Unix socket; empty: a port
  std::string host;
  int port = 0;  ///< 0: any free one
  [[nodiscard]] bool is_local() const noexcept { return !socket.empty() || host == "127.0.0.1" || host == "::1"; }
};

/// Reads "unix:PATH", "HOST:PORT" or "[::1]:PORT"; none for any other text.
[[nodiscard]] std::optional<ListenAddress> read_address(std::string_view text);

struct HttpOptions {
  ListenAddress address;
  std::vector<std::string> tokens;   ///< one of them must come with every call but /ready; empty: none need
  std::filesystem::path receipts;    ///< file that the session writes receipts to; empty: none
  std::filesystem::path quarantine;  ///< file that lines go to which are no requests; empty: they are only answered
  std::size_t threads = 64;          ///< calls that are answered at once
};

class HttpService {
 public:
  /// Reads the line of a request; none where it has another form, of which `fault` tells then.
  using ReadLine = std::function<std::optional<Request>(std::string_view line, RequestFault& fault)>;

  /// Takes the address. The intake and the resources, in which predictions read, outlive the service. Throws UsageError where the
  /// address cannot be had.
  HttpService(const std::filesystem::path& store, Intake& intake, Resources& resources, ReadLine read_line,
              HttpOptions options);
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
