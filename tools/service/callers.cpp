// tools/service/callers.cpp - compares what a call says of its sender with what the service is.
#include "tools/service/callers.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "storage/input/words/line_reader.h"
#include "storage/io/small_letters.h"

namespace unweave {
namespace {

/// Takes as long for any two texts of one length.
bool is_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool is_ip_address(const std::string& host) {
  in6_addr room{};
  if (host.starts_with('[') && host.ends_with(']'))
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &room) == 1;
  return ::inet_pton(AF_INET, host.c_str(), &room) == 1;
}

}  // namespace

std::string essence_of(const std::optional<std::string>& content_type) {
  if (!content_type) return "";
  const std::string_view whole = *content_type;
  const std::string_view essence = whole.substr(0, whole.find(';'));
  return in_small_letters(essence.substr(0, essence.find_last_not_of(" \t") + 1));
}

Callers::Callers(const ListenAddress& address, const std::vector<std::string>& names, std::vector<std::string> tokens)
    : any_host_(!address.socket.empty()),
      any_address_(address.host == "0.0.0.0" || address.host == "::"),
      port_(":" + std::to_string(address.port)),
      tokens_(std::move(tokens)) {
  for (const std::string& name : names) hosts_.push_back(in_small_letters(name));
  if (any_host_) return;
  std::vector<std::string> own{in_small_letters(address.host)};
  if (own[0].find(':') != std::string::npos) own[0] = "[" + own[0] + "]";
  if (address.is_local() || any_address_) own.emplace_back("localhost");
  for (const std::string& host : own) {
    hosts_.push_back(host + port_);
    if (address.port == 80) hosts_.push_back(host);
  }
}

bool Callers::is_own(std::string_view host) const {
  const std::string small = in_small_letters(host);
  if (std::find(hosts_.begin(), hosts_.end(), small) != hosts_.end()) return true;
  // An address is not a name that somebody could make to mean this machine.
  return any_address_ && small.ends_with(port_) && is_ip_address(small.substr(0, small.size() - port_.size()));
}

std::optional<std::string> Callers::foreign(const CallHead& head) const {
  if (!any_host_ && !(head.host && is_own(*head.host)))
    return "the header Host names " + quote_for_message(head.host.value_or("")) +
           ", where this service does not listen; whoever calls it by this name starts it with --host";
  if (head.origin) {
    const std::string origin = in_small_letters(*head.origin);
    const std::size_t scheme = origin.starts_with("http://") ? 7 : origin.starts_with("https://") ? 8 : 0;
    if (scheme == 0 || !is_own(std::string_view(origin).substr(scheme)))
      return "a page of " + quote_for_message(*head.origin) + " may not call this service";
  }
  if (head.fetch_site && *head.fetch_site != "same-origin" && *head.fetch_site != "none")
    return "a page of another site may not call this service";
  return std::nullopt;
}

bool Callers::has_token(const CallHead& head) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (!head.authorization || head.authorization->size() < kBearer.size()) return false;
  const auto is_same = [](char a, char b) { return (a | 0x20) == (b | 0x20); };  // a scheme has letters of any case
  if (!std::equal(kBearer.begin(), kBearer.end(), head.authorization->begin(), is_same)) return false;
  return is_token(std::string_view(*head.authorization).substr(kBearer.size()));
}

bool Callers::is_token(std::string_view text) const {
  bool found = false;
  for (const std::string& token : tokens_) found |= is_equal(text, token);
  return found;
}

}  // namespace unweave
