// The file that a crash leaves: the text that was read below a line of how to repeat the crash. It
// is written by the handler of the crash, so everything is made in advance and kept as plain bytes.
//
// A crash of a pass then starts the tool again, in a process of its own, to write the module as it
// was before this pass, and only this pass to run (hlo-opt --reproduce-before).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/crash_context.h"
#include "lib/support/source.h"

namespace hlo {

// The comment above the text: what crashed with which words.
std::string CrashHead(std::string_view program, const std::vector<std::string>& words);

class CrashReproducer {
 public:
  // A crash of `program` writes `head`, a comment line, and `source` to a file of the folder for
  // reproducers, and says that `program FILE words…` repeats it.
  CrashReproducer(std::string program, std::string head, std::shared_ptr<const Source> source,
                  const std::vector<std::string>& words);

  // The program with these words after the file, and --reproduce-before=N --reproduce-to=FILE,
  // writes the module before pass N.
  void SetRefiner(std::vector<std::string> words);
  // Pass `name`, the one of this number, starts or, with an empty name, is over.
  void InPass(std::string_view name, int64_t number);

 private:
  static void Act(const void* self, CrashWriter& out);
  void Write(CrashWriter& out) const;
  bool Refine(const char* to) const;

  std::string program_, head_, path_, folder_, command_end_;
  std::shared_ptr<const Source> source_;
  std::string executable_;
  std::vector<std::string> refiner_;
  char pass_[80] = "";
  int64_t number_ = -1;
  CrashAction action_;
};

}  // namespace hlo
