// tools/service/officer_desk.h - finds what the page of a service shows (officer_page.h), and makes
// it an answer.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/service/http_call.h"
#include "tools/service/intake.h"
#include "tools/service/officer_page.h"
#include "tools/service/request_lookup.h"
#include "unweave/store.h"

namespace unweave {

/// The form that asks for a token.
[[nodiscard]] Answer login_answer(bool was_wrong);
/// What a form of the page is answered: the page, with this cookie.
[[nodiscard]] Answer to_page(std::string cookie);

class OfficerDesk {
 public:
  /// All that it refers to outlives it. `ends`: whether the service does.
  OfficerDesk(const std::filesystem::path& store, Intake& intake, Resources& resources, const RequestLookup& lookup,
              const std::vector<std::string>& models, std::function<bool()> ends)
      : store_(store),
        intake_(intake),
        resources_(resources),
        lookup_(lookup),
        models_(models),
        ends_(std::move(ends)) {}

  /// The page, or where `find` is more than blanks what is known of that text. `has_cookie`: as
  /// OfficerPage has it.
  [[nodiscard]] Answer show(std::string find, bool has_cookie, CallMemory& memory) const;

 private:
  [[nodiscard]] PageSearch::Name find_name(const std::string& text) const;
  [[nodiscard]] PageSearch search(const std::string& text, CallMemory& memory) const;

  const std::filesystem::path& store_;
  Intake& intake_;
  Resources& resources_;
  const RequestLookup& lookup_;
  const std::vector<std::string>& models_;
  std::function<bool()> ends_;
};

}  // namespace unweave
