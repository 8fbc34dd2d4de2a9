// algorithms/unlearning/checks/statements.h - what checks of one model find: false statements,
// files nobody can read, remarks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace unweave {

class Statements {
 public:
  /// A statement of the certificate, or of the model, is false.
  void wrong(std::string text) { wrong_.push_back(std::move(text)); }
  /// A file that the model needs cannot be read; `text` names it.
  void unreadable(std::string text) { unreadable_.push_back(std::move(text)); }
  /// Something that is not checked, and why.
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  /// Two values must be the same, in the certificate and in the model.
  void same(const std::string& name, const nlohmann::ordered_json& said, const nlohmann::ordered_json& held);
  /// A number must be the one that was computed again. `tolerance` is relative; another machine's
  /// exp and log move sigma by less than the default.
  void near(const std::string& name, double said, double found, double tolerance = 1e-11);
  void at_most(const std::string& name, double value, const std::string& limit_name, double limit);

  [[nodiscard]] const std::vector<std::string>& all_wrong() const noexcept { return wrong_; }
  [[nodiscard]] const std::vector<std::string>& all_unreadable() const noexcept { return unreadable_; }
  [[nodiscard]] const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  std::vector<std::string> wrong_, unreadable_, remarks_;
};

}  // namespace unweave
