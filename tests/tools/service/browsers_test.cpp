// tests/tools/service/browsers_test.cpp - cookies stand for a browser until it ends, and no other
// text does.
#include "tools/service/browsers.h"

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
    Browsers browsers("unweave-8080");
    const std::string header = browsers.begin();
    const std::string cookie = cookie_of(header);
    CHECK(header.substr(cookie.size()) == "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200");
    CHECK(cookie.starts_with("unweave-8080="));
    CHECK(cookie.size() == 13 + 64);
    CHECK(cookie_of(browsers.begin()) != cookie);
    CHECK(browsers.has(cookie));
    CHECK(browsers.has("a=b;\t" + cookie + " ; c=d"));
    CHECK(browsers.has("unweave-8080=" + std::string(64, '0') + "; " + cookie));
  }

  TEST_CASE("nothing else is one") {
    Browsers browsers("unweave-8080");
    CHECK_FALSE(browsers.has(std::nullopt));
    CHECK_FALSE(browsers.has("unweave-8080=" + std::string(64, '0')));
    const std::string cookie = cookie_of(browsers.begin());
    std::string last = cookie;
    last.back() = last.back() == '0' ? '1' : '0';
    for (const std::string& text :
         {std::string(), std::string(";;;"), last, cookie + "0", cookie.substr(0, cookie.size() - 1), "x" + cookie,
          "unweave-8081" + cookie.substr(12), cookie.substr(13), "unweave-8080 =" + cookie.substr(13),
          "unweave-8080=\"" + cookie.substr(13) + "\""})
      CHECK_MESSAGE(!browsers.has(text), text);
  }

  TEST_CASE("a cookie ends when it is ended, when its time is up, and when 64 others have begun") {
    Browsers browsers("s");
    const Browsers::Clock::time_point start{};
    const std::string first = cookie_of(browsers.begin(start)), second = cookie_of(browsers.begin(start));
    CHECK(browsers.end(first + "; s=x") == "s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    CHECK_FALSE(browsers.has(first, start));
    CHECK(browsers.has(second, start + Browsers::kLife - std::chrono::seconds(1)));
    CHECK_FALSE(browsers.has(second, start + Browsers::kLife));
    std::vector<std::string> cookies;
    for (std::size_t i = 0; i <= Browsers::kMost; ++i) cookies.push_back(cookie_of(browsers.begin(start)));
    CHECK_FALSE(browsers.has(second, start));
    CHECK_FALSE(browsers.has(cookies[0], start));
    for (std::size_t i = 1; i < cookies.size(); ++i) CHECK_MESSAGE(browsers.has(cookies[i], start), i);
  }
}

}  // namespace
}  // namespace unweave
