// tools/service/officer_desk.cpp - gathers what the page shows.
#include "tools/service/officer_desk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "algorithms/models/model_record.h"
#include "storage/formats/manifest.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "storage/io/time_text.h"
#include "tools/service/answers.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownRequests = 50, kShownWaiting = 20;  // on the page
constexpr std::uint64_t kShownRequestBytes = 1024;              // while the log is read
constexpr std::size_t kMostSearched = 512;                      // bytes of a text; an id has 128, a name 255

/// A page of HTML, or what a form of one is answered.
Answer page_answer(std::string body, int status = 200) {
  return {status, std::move(body), std::string(kPageType), page_headers()};
}

}  // namespace

Answer login_answer(bool was_wrong) {
  Answer answer = page_answer(login_page(was_wrong), kUnauthorized);
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

Answer to_page(std::string cookie) {
  Answer answer = page_answer("", kSeeOther);
  answer.headers.emplace_back("Location", "/");
  answer.headers.emplace_back("Set-Cookie", std::move(cookie));
  return answer;
}

/// Whether the text is the name of a node at present, in quotes, too, as names with blanks are
/// printed. It is not told whether one that is removed has had it: no output has its name
/// (promises.md).
PageSearch::Name OfficerDesk::find_name(const std::string& text) const {
  try {
    if (!read_manifest(store_).names) return PageSearch::Name::no_names;
    // A purge takes long, and who asks for requests does not wait for it.
    const Intake::Reading reading(intake_, [&] { return ends_() || intake_.counts().purging; });
    const Reader reader(store_, resources_);
    const NodeNames& names = reader.names();
    const bool is_present =
        names.find(text) < reader.nodes() || (is_quoted(text) && names.find(unquoted(text)) < reader.nodes());
    return is_present ? PageSearch::Name::present : PageSearch::Name::absent;
  } catch (const BusyError&) {
    return PageSearch::Name::unreadable;
  } catch (const ResourceError&) {
    return PageSearch::Name::unreadable;
  } catch (const DataError&) {  // a purge replaces the store
    return PageSearch::Name::unreadable;
  }
}

PageSearch OfficerDesk::search(const std::string& text, CallMemory& memory) const {
  PageSearch found;
  found.text = text;
  found.writes_receipts = lookup_.has_receipts();
  const std::optional<RequestState> state = intake_.find(text);
  found.waits = state && !state->applied;
  const LoggedId logged = lookup_.find(text);
  found.request = logged.request;
  found.removal = logged.removal;
  if (found.request && found.writes_receipts)
    for (const std::string& model : models_)
      if (std::string line = lookup_.receipt(model, text, logged, memory); !line.empty())
        found.receipts.push_back({model, std::move(line)});
  found.name = find_name(text);
  return found;
}

Answer OfficerDesk::show(std::string text, bool has_cookie, CallMemory& memory) const {
  OfficerPage page;
  page.store = fs::weakly_canonical(store_).filename().string();
  page.time = present_time();
  page.has_cookie = has_cookie;
  page.ready = intake_.ready();
  page.counts = intake_.counts();
  text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  text = text.substr(0, text.find_last_not_of(" \t") + 1);
  if (text.size() > kMostSearched) return error_of("a search has at most 512 bytes", kBadRequest);
  if (!text.empty()) {
    page.search = search(text, memory);
  } else {
    memory.add(kShownRequests * kShownRequestBytes);
    NewestRequests newest = newest_logged_requests(store_, kShownRequests);
    page.requests = std::move(newest.requests);
    page.logged = newest.total;
    page.waiting = intake_.waiting_ids(kShownWaiting);
    for (const ModelSummary& model : list_models(store_)) {
      const bool follows = std::find(models_.begin(), models_.end(), model.name) != models_.end();
      std::string stuck;
      for (const auto& [name, why] : page.counts.stuck_models)
        if (name == model.name) stuck = why;
      page.models.push_back({model.name, model.solver, follows, std::move(stuck), model.sequence, model.damage});
    }
    // A purge has taken away those of which the rows had none.
    for (const auto& stuck : page.counts.stuck_models)
      if (std::none_of(page.models.begin(), page.models.end(),
                       [&](const auto& one) { return one.name == stuck.first; }))
        page.models.push_back({stuck.first, "", true, stuck.second, 0, ""});
  }
  memory.add(officer_page_bytes(page));
  return page_answer(officer_page(page));
}

}  // namespace unweave
