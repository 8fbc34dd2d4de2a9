// tools/cli/interrupt.h - what Ctrl-C and SIGTERM say before they end the program: one line on
// standard error.
//
//   InterruptText text("interrupted: nothing was changed");
//   ...
//   text.set("interrupted: 60 requests are acknowledged");
//
// The process still dies of the signal, at once, and a shell still shows 130 or 143; a signal that
// the process was begun with orders to ignore stays ignored.
#pragma once

#include <string>
#include <string_view>

namespace unweave {

/// While one lives, the signals print its text, "unweave: TEXT"; after it what they printed before.
/// Objects are nested as scopes are. All of the process's threads share the text.
class InterruptText {
 public:
  /// An empty text prints nothing.
  explicit InterruptText(std::string_view text = {});
  ~InterruptText();
  InterruptText(const InterruptText&) = delete;
  InterruptText& operator=(const InterruptText&) = delete;
  void set(std::string_view text);
  /// What a signal would print now.
  [[nodiscard]] static std::string present();

 private:
  std::string before_;
};

/// While one lives, the signals wait: for a short act after which the text has to be another one.
class InterruptHold {
 public:
  InterruptHold();
  ~InterruptHold();
  InterruptHold(const InterruptHold&) = delete;
  InterruptHold& operator=(const InterruptHold&) = delete;
};

}  // namespace unweave
