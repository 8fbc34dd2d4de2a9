// tools/service/callers.h - who may call a service: nobody without a token where there are tokens,
// and no page but its own.
//
// A browser carries calls of any page to this machine. It cannot be told apart by its address, but
// it says which page asks (Origin, Sec-Fetch-Site), and by which name it found the service (Host):
// a page whose own name was made to mean this machine has no other Origin, and is found by that
// name. What it may send without asking first has one of three content types; see
// is_request_type().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/service/http_call.h"
#include "tools/service/listener.h"

namespace unweave {

/// The content type of request lines. No form and no script sends it to another site without asking
/// first, which is refused.
inline constexpr std::string_view kLinesType = "text/x-unweave";
inline constexpr std::string_view kJsonType = "application/json";
/// What a form of a page sends. Any page may send it, so that it counts only beside the page's name
/// (Callers::names_page).
inline constexpr std::string_view kFormType = "application/x-www-form-urlencoded";

/// A content type without its parameters, in small letters; empty for none.
[[nodiscard]] std::string essence_of(const std::optional<std::string>& content_type);

class Callers {
 public:
  /// `address`: where the service listens, its port included. `names`: further values of Host,
  /// "graph.example.org" say, by which a proxy or a tunnel calls. `tokens`: one must come with each
  /// call; empty: none need.
  Callers(const ListenAddress& address, const std::vector<std::string>& names, std::vector<std::string> tokens);

  /// Why a call comes from a place that may not call; none where it may.
  [[nodiscard]] std::optional<std::string> foreign(const CallHead& head) const;
  [[nodiscard]] bool need_token() const noexcept { return !tokens_.empty(); }
  [[nodiscard]] bool has_token(const CallHead& head) const;
  /// Whether a text is one of the tokens; takes as long for any text of a length.
  [[nodiscard]] bool is_token(std::string_view text) const;
  /// Whether a call says which page has sent it, as every form of a browser does.
  [[nodiscard]] static bool names_page(const CallHead& head) noexcept { return head.origin || head.fetch_site; }

 private:
  [[nodiscard]] bool is_own(std::string_view host) const;

  bool any_host_ = false;           ///< a Unix socket, which no browser can name
  bool any_address_ = false;        ///< it listens on all of the machine's
  std::string port_;                ///< ":8080"
  std::vector<std::string> hosts_;  ///< in small letters
  std::vector<std::string> tokens_;
};

}  // namespace unweave
