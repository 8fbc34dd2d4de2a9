// tests/storage/io/nearest_name_test.cpp - which name a mistyped one was meant to be.
#include "storage/io/nearest_name.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace unweave {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"train", "stream", "purge", "newton", "newton-step"};

TEST_SUITE("unit") {
  TEST_CASE("letters too many, too few, wrong or swapped are forgiven, within a third of the name") {
    for (const char* text : {"train", "trian", "Train", "tain", "trainn", "trein"})
      CHECK(nearest_name(text, kNames) == "train");
    CHECK(nearest_name("strem", kNames) == "stream");
    CHECK(nearest_name("newotn", kNames) == "newton");
    CHECK(nearest_name("newtonstep", kNames) == "newton-step");
    for (const char* text : {"", "x", "help", "brain-dead", "purrrrge", "t"}) {
      CAPTURE(text);
      CHECK(nearest_name(text, kNames).empty());
    }
    CHECK(nearest_name(std::string(10000, 't'), kNames).empty());
    CHECK(nearest_name("train", {}).empty());
  }

  TEST_CASE("the beginning of one name alone stands for it") {
    CHECK(nearest_name("pu", kNames) == "purge");
    CHECK(nearest_name("newton-", kNames) == "newton");
    CHECK(nearest_name("new", kNames).empty());
  }

  TEST_CASE("texts for messages") {
    CHECK(did_you_mean("prge", kNames) == " (did you mean 'purge'?)");
    CHECK(did_you_mean("other", kNames).empty());
    CHECK(one_of(std::span(kNames).first(1)) == "train");
    CHECK(one_of(std::span(kNames).first(3)) == "train, stream or purge");
    CHECK(unknown_name("verb", "prge", std::span(kNames).last(3)) ==
          "unknown verb \"prge\" (did you mean 'purge'?); use purge, newton or newton-step");
  }
}

}  // namespace
}  // namespace unweave
