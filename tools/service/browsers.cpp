// tools/service/browsers.cpp - draws cookies, and knows them again.
#include "tools/service/browsers.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "algorithms/random/random_source.h"

namespace unweave {
namespace {

constexpr std::size_t kCookieDigits = 64;
constexpr std::size_t kMostCookies = 4;  // that are looked at: a page of another port may have set more of the name
constexpr std::string_view kCookieAttributes = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=";

std::string cookie_digits(const Hash& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

/// Takes as long for any two.
bool is_equal_hash(const Hash& a, const Hash& b) {
  std::byte difference{};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{};
}

/// Hashes of the cookies of this name that can be ours.
std::vector<Hash> hashes_of(const std::optional<std::string>& cookies, std::string_view name) {
  std::vector<Hash> hashes;
  std::string_view left = cookies ? std::string_view(*cookies) : std::string_view();
  while (!left.empty() && hashes.size() < kMostCookies) {
    std::string_view one = left.substr(0, left.find(';'));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    one.remove_prefix(std::min(one.find_first_not_of(" \t"), one.size()));
    one = one.substr(0, one.find_last_not_of(" \t") + 1);
    if (one.size() != name.size() + 1 + kCookieDigits || !one.starts_with(name) || one[name.size()] != '=') continue;
    hashes.push_back(hash_of(one.substr(name.size() + 1)));
  }
  return hashes;
}

}  // namespace

std::string Browsers::begin(Clock::time_point now) {
  RandomSource random = RandomSource::from_system();
  const std::string secret = cookie_digits(draw_hash(random));
  {
    const std::scoped_lock lock(mutex_);
    while (!browsers_.empty() && (browsers_.size() >= kMost || browsers_.front().end <= now)) browsers_.pop_front();
    browsers_.push_back({hash_of(secret), now + kLife});
  }
  return name_ + "=" + secret + std::string(kCookieAttributes) +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kLife).count());
}

bool Browsers::has(const std::optional<std::string>& cookies, Clock::time_point now) const {
  const std::vector<Hash> hashes = hashes_of(cookies, name_);
  if (hashes.empty()) return false;
  bool found = false;
  const std::scoped_lock lock(mutex_);
  for (const Browser& browser : browsers_)
    for (const Hash& hash : hashes) found |= browser.end > now && is_equal_hash(browser.hash, hash);
  return found;
}

std::string Browsers::end(const std::optional<std::string>& cookies) {
  const std::vector<Hash> hashes = hashes_of(cookies, name_);
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(browsers_, [&](const Browser& browser) {
      return std::any_of(hashes.begin(), hashes.end(),
                         [&](const Hash& hash) { return is_equal_hash(browser.hash, hash); });
    });
  }
  return name_ + "=" + std::string(kCookieAttributes) + "0";
}

}  // namespace unweave
