// Which values a flag takes, and with which other flags it means something. Flags::Parse checks it,
// whatever place the value comes from; what does not fit is a usage error.
//
//   flags.Add("threads,j", &threads, FlagValues::Between(0, 1024), "N", "threads of the run");
//   flags.Add("jobs", &jobs, FlagValues::From(1).With({"check-file", "check-models"}), "N", "…");
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace hlo {

class FlagValues {
 public:
  // What is wrong with a value, as it stands after "`--flag`": "expects …, found `x`", or ": …".
  // Empty: nothing.
  using Test = std::function<std::string(const std::string& value)>;

  static FlagValues Any();   // also the empty text
  static FlagValues Some();  // any text but the empty one
  static FlagValues Words(std::vector<std::string_view> words);
  static FlagValues ListOf(std::vector<std::string_view> words);  // with commas between them
  static FlagValues Regex();
  static FlagValues Passing(Test test);
  static FlagValues Passing(std::string_view what, std::function<bool(const std::string&)> test);
  // For each name of a list with commas. An error of `test` is the message.
  static FlagValues Names(std::function<absl::Status(std::string_view name)> test);

  static FlagValues From(double least);
  static FlagValues Between(double least, double most);

  // Given on the command line, the flag needs one of these beside it.
  FlagValues With(std::vector<std::string_view> others) &&;

  // "" or what is wrong with the value.
  std::string Mistake(const std::string& value) const { return test_(value); }
  const std::vector<std::string_view>& with() const { return with_; }

 private:
  explicit FlagValues(Test test) : test_(std::move(test)) {}
  Test test_;
  std::vector<std::string_view> with_;
};

// The message of a failed status as such a mistake, "" of a good one.
std::string MistakeOf(const absl::Status& status);

// "200M", "1.5G": bytes; 0 when it is no size.
uint64_t BytesOf(std::string_view text);

}  // namespace hlo
