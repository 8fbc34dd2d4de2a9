// storage/io/error.h - the ways in which work can fail, each with the exit code that tools give it.
//
// Bad arguments, bad bytes, refused system calls and failed checks throw. Broken invariants of our
// own are asserts. A message is one line and names the file, the place in it and the remedy. The
// options and operations that it names are marked (message.h): what() is the plain text, message()
// has the marks, with which a front end shows them in its own way.
#pragma once

#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "storage/io/message.h"

namespace unweave {

/// What all of them are. what() is the plain text of the message.
struct Error : std::runtime_error {
  explicit Error(const std::string& message) : std::runtime_error(plain(message)), message_(message) {}
  /// The message with its marks: whoever makes another message of this one takes it.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }
  /// The keys of the options that the message names: what a caller may change.
  [[nodiscard]] std::vector<std::string> options() const { return options_in(message_); }

 private:
  std::string message_;
};

/// The message of an Error with its marks, what() of any other exception.
[[nodiscard]] std::string message_of(const std::exception& error);

/// Wrong usage of a command or of an interface (exit code 1).
struct UsageError : Error {
  using Error::Error;
};

/// Data that is wrong or cannot be read (exit code 2).
struct DataError : Error {
  using Error::Error;
};

/// Not enough memory, disk, descriptors (exit code 3).
struct ResourceError : Error {
  using Error::Error;
};

/// Everything was readable, but a statement that should hold does not (exit code 4).
struct CheckError : Error {
  using Error::Error;
};

/// Work was cancelled by whoever watches it. A store is then as a crash at that moment would have
/// left it, whole: what was acknowledged stays, and what was under way is taken back, or finished
/// when the store is opened next.
struct Cancelled final : Error {
  Cancelled() : Error("cancelled") {}
};

/// Bytes of the store's own files are wrong. `place` is "byte 8, version", say.
struct FormatError final : DataError {
  FormatError(const std::filesystem::path& file, std::string_view place, std::string_view what)
      : DataError(file.string() + ": " + std::string(place) + ": " + std::string(what) + "; " + operation("repair") +
                  " makes anew what follows from other files; else restore the file from a copy"),
        fault(std::string(place) + ": " + std::string(what)) {}
  std::string fault;  ///< without file and remedy, with its marks
};

/// A file is not what the manifest recorded of it at a clean close, or has lost acknowledged
/// records. `remedy`: beside restoring it from a copy.
struct RecordError final : DataError {
  RecordError(const std::filesystem::path& file, std::string_view what, std::string_view remedy)
      : DataError(file.string() + ": " + std::string(what) + "; restore the file from a copy, or " +
                  std::string(remedy)),
        fault(what) {}
  std::string fault;  ///< place, where there is one, and what is wrong; without file and remedy, with its marks
};

/// Bytes of a user's file are wrong. `place` is "line 17" or "element 3", say; `remedy` says what
/// to change.
struct InputError final : DataError {
  InputError(const std::filesystem::path& file, std::string_view at, std::string_view what, std::string_view remedy)
      : DataError(file.string() + ": " + std::string(at) + ": " + std::string(what) + "; " + std::string(remedy)),
        place(at) {}
  std::string place;
};

/// Throws for the system error `errno_value` of `action` ("open", "write") on `file`: ResourceError
/// for a full disk, exhausted descriptors or memory, DataError otherwise.
[[noreturn]] void throw_system_error(std::string_view action, const std::filesystem::path& file, int errno_value);

}  // namespace unweave
