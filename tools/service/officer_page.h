// tools/service/officer_page.h - the page of a service for whoever answers for the data: health,
// requests and their certificates, what no purge has reached, and a search, whose result is laid
// out to be printed.
//
// It is one HTML document without scripts, which refers to nothing but the service. Before a purge
// no output has the name of a node that was removed: a search repeats what was typed, and tells of
// names alone that nodes have at present.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/io/time_text.h"
#include "tools/service/intake.h"
#include "unweave/requests.h"

namespace unweave {

/// A model of the store.
struct PageModel {
  std::string name, solver;
  bool follows = false;        ///< the service unlearns every batch with it
  std::string stuck;           ///< why it cannot (ModelStep::stuck); empty: it can
  std::uint64_t sequence = 0;  ///< the last request that it has absorbed
  std::string damage;          ///< why nobody can read it; empty: it can be read
};

/// A line of a file of receipts.
struct PageReceipt {
  std::string model;
  std::string line;
};

/// What is known of a text that somebody looks for.
struct PageSearch {
  /// How the text fares as the name of a node.
  enum class Name { no_names, present, absent, unreadable };

  std::string text;
  std::optional<RequestRecord> request;  ///< whose id it is
  std::optional<RequestRecord> removal;  ///< what a note of this id has asked for
  bool waits = false;                    ///< a request of this id is acknowledged and not applied
  bool writes_receipts = false;          ///< the service does
  std::vector<PageReceipt> receipts;     ///< one a model
  Name name = Name::no_names;
};

struct OfficerPage {
  std::string store;
  Millis time = 0;          ///< when the page was made
  bool has_cookie = false;  ///< a browser that has shown a token, and may log out
  bool ready = false;
  bool writes_receipts = false;
  IntakeCounts counts;
  std::vector<PageModel> models;
  std::vector<std::string> waiting;     ///< ids of requests that are acknowledged and not applied, the newest first
  std::vector<RequestRecord> requests;  ///< the newest first
  std::uint64_t logged = 0;             ///< how many requests with an id there are
  std::optional<PageSearch> search;     ///< its result takes the place of the lists
};

/// Bytes that officer_page() takes at most for its texts, the page included.
[[nodiscard]] std::uint64_t officer_page_bytes(const OfficerPage& page);
[[nodiscard]] std::string officer_page(const OfficerPage& page);

/// A form for a token. `was_wrong`: one was sent that is none.
[[nodiscard]] std::string login_page(bool was_wrong);

/// Headers that forbid a browser to fetch, run, frame or keep anything of such a page. Its own
/// forms tell where they come from (Referrer-Policy: same-origin; with no-referrer a form says
/// `Origin: null`).
[[nodiscard]] std::vector<std::pair<std::string, std::string>> page_headers();

inline constexpr std::string_view kPageType = "text/html; charset=utf-8";

}  // namespace unweave
