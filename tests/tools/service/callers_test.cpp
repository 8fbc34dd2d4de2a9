// tests/tools/service/callers_test.cpp - who may call a service, by what a call says of its sender.
#include "tools/service/callers.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace unweave {
namespace {

CallHead head_from(const std::string& host, std::optional<std::string> origin = std::nullopt) {
  CallHead head;
  head.host = host;
  head.origin = std::move(origin);
  return head;
}

bool may_call(const ListenAddress& address, const std::string& host, std::optional<std::string> origin = std::nullopt,
              const std::vector<std::string>& names = {}) {
  return !Callers(address, names, {}).foreign(head_from(host, std::move(origin)));
}

TEST_SUITE("unit") {
  TEST_CASE("a service answers under the names that it listens by") {
    const ListenAddress local{{}, "127.0.0.1", 8080};
    CHECK(may_call(local, "127.0.0.1:8080"));
    CHECK(may_call(local, "LocalHost:8080"));
    for (const char* host : {"", "127.0.0.1", "127.0.0.1:80", "evil.example:8080", "127.0.0.1:8080.evil.example",
                             "localhost:8080:8080", "[::1]:8080", "10.0.0.1:8080"})
      CHECK_MESSAGE(!may_call(local, host), host);
    CHECK(may_call({{}, "::1", 8080}, "[::1]:8080"));
    CHECK(may_call({{}, "::1", 8080}, "localhost:8080"));
    CHECK(may_call({{}, "127.0.0.1", 80}, "localhost"));
    CHECK(may_call({{}, "db1.internal", 80}, "db1.internal:80"));
    CHECK(!may_call({{}, "db1.internal", 80}, "localhost"));
    const ListenAddress all{{}, "0.0.0.0", 8080};
    for (const char* host : {"10.1.2.3:8080", "localhost:8080", "[fe80::1]:8080"})
      CHECK_MESSAGE(may_call(all, host), host);
    for (const char* host :
         {"evil.example:8080", "10.1.2.3", "10.1.2.3:80", "1.2.3.4.example:8080", "[::1:8080", ":8080"})
      CHECK_MESSAGE(!may_call(all, host), host);
    CHECK(may_call(local, "graph.example.org", {}, {"Graph.example.org"}));
    CHECK(may_call({"/run/socket", "", 0}, "anything"));
    CHECK(Callers(local, {}, {}).foreign({}));
  }

  TEST_CASE("no page of another place may call") {
    const ListenAddress local{{}, "127.0.0.1", 8080};
    const auto from = [&](const char* origin) {
      return may_call(local, "127.0.0.1:8080", origin, {"graph.example.org"});
    };
    CHECK(from("http://127.0.0.1:8080"));
    CHECK(from("http://localhost:8080"));
    CHECK(from("https://graph.example.org"));
    for (const char* origin :
         {"", "null", "http://", "http://localhost", "http://localhost:3000", "ftp://127.0.0.1:8080", "127.0.0.1:8080",
          "http://127.0.0.1:8080/", "http://graph.example.org.evil.example"})
      CHECK_MESSAGE(!from(origin), origin);
    CHECK(!may_call({"/run/socket", "", 0}, "localhost", "http://localhost"));
    CallHead head = head_from("127.0.0.1:8080");
    const Callers callers(local, {}, {});
    for (const char* site : {"none", "same-origin"}) {
      head.fetch_site = site;
      CHECK_MESSAGE(!callers.foreign(head), site);
    }
    for (const char* site : {"same-site", "cross-site", "", "None"}) {
      head.fetch_site = site;
      CHECK_MESSAGE(callers.foreign(head), site);
    }
  }

  TEST_CASE("a token is one of the list, whole") {
    const Callers callers({{}, "127.0.0.1", 8080}, {}, {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"});
    CallHead head;
    CHECK(callers.need_token());
    CHECK(!callers.has_token(head));
    for (const char* given :
         {"Bearer bbbbbbbbbbbbbbbb", "Bearer aaaaaaaaaaaaaaaa", "bearer bbbbbbbbbbbbbbbb", "BEARER aaaaaaaaaaaaaaaa"}) {
      head.authorization = given;
      CHECK(callers.has_token(head));
    }
    for (const char* given : {"", "Bearer ", "Bearer b", "bbbbbbbbbbbbbbbb", "Bearer bbbbbbbbbbbbbbbbb",
                              "Beareraaaaaaaaaaaaaaaaa", "Bearer BBBBBBBBBBBBBBBB"}) {
      head.authorization = given;
      CHECK_MESSAGE(!callers.has_token(head), given);
    }
  }

  TEST_CASE("a token may come in a form, which says which page has sent it") {
    const Callers callers({{}, "127.0.0.1", 8080}, {}, {"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"});
    CHECK(callers.is_token("bbbbbbbbbbbbbbbb"));
    for (const char* text : {"", "b", "bbbbbbbbbbbbbbbbb", "Bearer bbbbbbbbbbbbbbbb", "aaaaaaaaaaaaaaab"})
      CHECK_MESSAGE(!callers.is_token(text), text);
    CHECK(!Callers({{}, "127.0.0.1", 8080}, {}, {}).is_token(""));
    CallHead head = head_from("127.0.0.1:8080");
    CHECK(!Callers::names_page(head));
    head.fetch_site = "none";
    CHECK(Callers::names_page(head));
    CHECK(Callers::names_page(head_from("127.0.0.1:8080", "null")));
  }

  TEST_CASE("the essence of a content type is what a browser goes by") {
    CHECK(essence_of({}).empty());
    CHECK(essence_of("Application/JSON ; charset=utf-8") == kJsonType);
    CHECK(essence_of("text/x-unweave") == kLinesType);
    CHECK(essence_of("text/plain; application/json") == "text/plain");
    CHECK(essence_of(" ; application/json").empty());
  }
}

}  // namespace
}  // namespace unweave
