// tools/service/browsers.h - browsers that have shown a token: a cookie stands for it, for the page
// alone (officer_page.h).
//
// A cookie is 256 random bits, of which the hash is kept: whoever sees the memory of the service
// cannot call with it. Browsers send cookies by the name of a machine, whatever the port, so that
// each service has a name of its own for them.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/random/hash.h"

namespace unweave {

/// Any thread.
class Browsers {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMost = 64;  ///< beyond them the oldest one ends
  static constexpr std::chrono::hours kLife{12};

  /// `name`: of the cookie.
  explicit Browsers(std::string name) : name_(std::move(name)) {}

  /// Begins one. Returns the value of the header Set-Cookie that gives it to the browser.
  [[nodiscard]] std::string begin(Clock::time_point now = Clock::now());
  /// Whether the header Cookie of a call names one that goes on.
  [[nodiscard]] bool has(const std::optional<std::string>& cookies, Clock::time_point now = Clock::now()) const;
  /// Ends those that the header names. Returns the value of the header Set-Cookie that takes the
  /// cookie from the browser.
  std::string end(const std::optional<std::string>& cookies);

 private:
  struct Browser {
    Hash hash;
    Clock::time_point end;
  };

  const std::string name_;
  mutable std::mutex mutex_;
  std::deque<Browser> browsers_;  ///< the oldest first
};

}  // namespace unweave
