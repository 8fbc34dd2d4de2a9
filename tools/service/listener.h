// tools/service/listener.h - the address of a service: how it is written, and the socket that
// listens there.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

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

/// A socket that listens, until it is handed over. A Unix socket is for its owner alone, and its
/// file goes with this object.
class Listener {
 public:
  /// Replaces a Unix socket where nobody listens. Throws UsageError for an address that cannot be
  /// had: another program has it, or the path is that of something else.
  explicit Listener(const ListenAddress& address);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// With the port that is listened on.
  [[nodiscard]] const ListenAddress& address() const noexcept { return address_; }
  /// Hands the descriptor over.
  [[nodiscard]] int release() noexcept;

 private:
  void listen_on_path();
  void listen_on_port();

  ListenAddress address_;
  int descriptor_ = -1;
  dev_t device_ = 0;  ///< and the inode: the file of the Unix socket
  ino_t inode_ = 0;
};

}  // namespace unweave
