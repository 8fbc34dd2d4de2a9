// tools/service/answers.h - the forms of the service's answers: objects of JSON, errors, metrics.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/service/http_call.h"
#include "tools/service/intake.h"
#include "unweave/requests.h"

namespace unweave {

using AnswerJson = nlohmann::ordered_json;

inline constexpr int kSeeOther = 303, kBadRequest = 400, kUnauthorized = 401, kForbidden = 403, kNotFound = 404,
                     kNotAllowed = 405, kConflict = 409, kTooLarge = 413, kWrongType = 415, kServerError = 500,
                     kUnavailable = 503, kFull = 507;

[[nodiscard]] Answer answer_of(const AnswerJson& json, int status = 200);
/// An object with the member `error`. One of kUnavailable says when to come again.
[[nodiscard]] Answer error_of(const std::string& error, int status);

/// A request that was submitted here.
[[nodiscard]] AnswerJson json_of(const std::string& id, const RequestState& state);
/// A request in the log.
[[nodiscard]] AnswerJson json_of(const RequestRecord& record);
/// A moment; null where there is none.
[[nodiscard]] AnswerJson json_of(const std::optional<Millis>& time);
/// What a purge did.
[[nodiscard]] AnswerJson json_of(const StorePurge& purge);
/// What the id of a refused request stands for. `lines`: where the requests of the call stand.
[[nodiscard]] AnswerJson json_of(const IdConflict& conflict, const std::vector<std::size_t>& lines);

/// Counts as Prometheus reads them.
[[nodiscard]] std::string metrics_text(const IntakeCounts& counts, bool ready);

}  // namespace unweave
