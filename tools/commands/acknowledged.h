// tools/commands/acknowledged.h - how many requests of the input of `stream` are acknowledged, and
// where to go on after an end that nobody wanted: a bad line, a refused batch, Ctrl-C.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/cli/interrupt.h"

namespace unweave {

class Acknowledged {
 public:
  /// `file`: as --requests names it; empty where no file is read.
  explicit Acknowledged(std::string file);
  /// A signal waits from here to the next end() or told(), and its text then tells of the batch.
  void begin() { hold_.emplace(); }
  /// `last_line`: of the batch's last request.
  void end(std::uint64_t requests, std::uint64_t last_line);
  /// The batch came from elsewhere.
  void end() { end(0, last_line_); }
  /// The batch's line is being printed, which takes as long as its reader likes: signals do not
  /// wait for that.
  void tell();
  /// The batch's receipts are written and its line is printed.
  void told();
  /// The input has no more requests than are acknowledged.
  void finish();

  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }  ///< that the file had
  /// "requests 1 to 200 are acknowledged" and how to send the rest, `mended` where something in it
  /// has to be mended first.
  [[nodiscard]] std::string text(bool mended) const;

 private:
  std::string file_;
  bool has_lines_;  // that `tail` finds
  std::uint64_t requests_ = 0, last_line_ = 0;
  InterruptText interrupt_;
  std::optional<InterruptHold> hold_;
};

}  // namespace unweave
