// tools/service/listener.cpp - takes an address for a service.
#include "tools/service/listener.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/private_file.h"

namespace unweave {
namespace {

constexpr int kBacklog = SOMAXCONN;  // clients that come together, and wait to be accepted; the kernel may allow fewer

[[noreturn]] void refuse_address(const std::string& address, const std::string& why) {
  throw UsageError(option("listen") + ": " + address + " " + why);
}

std::string system_text(int error) {
  return std::generic_category().message(error);
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& text = path.native();
  if (text.size() >= sizeof address.sun_path)
    refuse_address(text, "is too long for a socket; take a path of at most " +
                             std::to_string(sizeof address.sun_path - 1) + " bytes");
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

/// Whether somebody listens on the socket of this path.
bool is_listened_to(const sockaddr_un& address) {
  const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (client < 0) return true;
  const bool refused = ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                       (errno == ECONNREFUSED || errno == ENOENT);
  ::close(client);
  return !refused;
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

Listener::Listener(const ListenAddress& address) : address_(address) {
  try {
    address_.socket.empty() ? listen_on_port() : listen_on_path();
  } catch (...) {
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

Listener::~Listener() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (address_.socket.empty()) return;
  struct stat found {};
  if (::lstat(address_.socket.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) && found.st_dev == device_ &&
      found.st_ino == inode_)
    drop_entry(resolved_parent(address_.socket));
}

int Listener::release() noexcept {
  return std::exchange(descriptor_, -1);
}

void Listener::listen_on_path() {
  const std::string path = address_.socket.string();
  const sockaddr_un address = address_of(address_.socket);
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) refuse_address(path, "is no socket; name a path where nothing is");
    if (is_listened_to(address)) refuse_address(path, "is another service's; end that one, or name another path");
    drop_entry(resolved_parent(path));  // a service that was killed has left it
  }
  descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // The file gets the rights of the socket, from its first moment on.
  if (descriptor_ < 0 || ::fchmod(descriptor_, kOwnerAlone) != 0 ||
      ::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(descriptor_, kBacklog) != 0 || ::lstat(path.c_str(), &found) != 0)
    refuse_address(path, "cannot be made: " + system_text(errno));
  device_ = found.st_dev;
  inode_ = found.st_ino;
}

void Listener::listen_on_port() {
  const std::string text = address_.host + ":" + std::to_string(address_.port);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(address_.host.c_str(), std::to_string(address_.port).c_str(), &wanted, &found);
      error != 0)
    refuse_address(text, std::string("is no address of this machine: ") + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = found; one != nullptr && descriptor_ < 0; one = one->ai_next) {
    const int on = 1;
    const int made = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (made >= 0 && ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(made, one->ai_addr, one->ai_addrlen) == 0 && ::listen(made, kBacklog) == 0) {
      descriptor_ = made;
      break;
    }
    error = errno;
    if (made >= 0) ::close(made);
  }
  if (descriptor_ < 0) refuse_address(text, "cannot be had: " + system_text(error));
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    refuse_address(text, "cannot be had: " + system_text(errno));
  address_.port = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                                      : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace unweave
