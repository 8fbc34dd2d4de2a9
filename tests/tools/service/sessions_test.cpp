// tests/tools/service/sessions_test.cpp - cookies stand for a session until it ends, and no other
// text does.
#include "tools/service/sessions.h"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace unweave {
namespace {

std::string cookie_of(const std::string& header) {
  return header.substr(0, header.find(';'));
}

TEST_SUITE("unit") {
  TEST_CASE("a cookie is 256 bits of its own, for this host alone and no script") {
    Sessions sessions("unweave-8080");
    const std::string header = sessions.begin();
    const std::string cookie = cookie_of(header);
    CHECK(header.substr(cookie.size()) == "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
    CHECK(cookie.starts_with("unweave-8080="));
    CHECK(cookie.size() == 13 + 64);
    CHECK(cookie_of(sessions.begin()) != cookie);
    CHECK(sessions.has(cookie));
    CHECK(sessions.has("a=b;\t" + cookie + " ; c=d"));
    CHECK(sessions.has("unweave-8080=" + std::string(64, '0') + "; " + cookie));
  }

  TEST_CASE("nothing else is one") {
    Sessions sessions("unweave-8080");
    CHECK_FALSE(sessions.has(std::nullopt));
    CHECK_FALSE(sessions.has("unweave-8080=" + std::string(64, '0')));
    const std::string cookie = cookie_of(sessions.begin());
    std::string last = cookie;
    last.back() = last.back() == '0' ? '1' : '0';
    for (const std::string& text :
         {std::string(), std::string(";;;"), last, cookie + "0", cookie.substr(0, cookie.size() - 1), "x" + cookie,
          "unweave-8081" + cookie.substr(12), cookie.substr(13), "unweave-8080 =" + cookie.substr(13),
          "unweave-8080=\"" + cookie.substr(13) + "\""})
      CHECK_MESSAGE(!sessions.has(text), text);
  }

  TEST_CASE("a session ends when it is ended, when its time is up, and when 64 others have begun") {
    Sessions sessions("s");
    const Sessions::Clock::time_point start{};
    const std::string first = cookie_of(sessions.begin(start)), second = cookie_of(sessions.begin(start));
    CHECK(sessions.end(first + "; s=x") == "s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    CHECK_FALSE(sessions.has(first, start));
    CHECK(sessions.has(second, start + Sessions::kLife - std::chrono::seconds(1)));
    CHECK_FALSE(sessions.has(second, start + Sessions::kLife));
    std::vector<std::string> cookies;
    for (std::size_t i = 0; i <= Sessions::kMost; ++i) cookies.push_back(cookie_of(sessions.begin(start)));
    CHECK_FALSE(sessions.has(second, start));
    CHECK_FALSE(sessions.has(cookies[0], start));
    for (std::size_t i = 1; i < cookies.size(); ++i) CHECK_MESSAGE(sessions.has(cookies[i], start), i);
  }
}

}  // namespace
}  // namespace unweave
