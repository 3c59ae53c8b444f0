// What the tools share: exit codes, reading inputs, rendering errors, failing well.
//
// Results go to standard output, everything else to standard error. A broken invariant, a crash or
// an uncaught exception prints what is known and exits with 70 instead of a signal; HLO_ABORT=1 in
// the environment keeps the signal, for debuggers. Running out of memory exits with 4. A reader
// that closes the pipe early ends the tool quietly.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/support/diagnostic.h"
#include "lib/support/source.h"
#include "tools/support/flags.h"

namespace hlo {

enum ExitCode : int {
  kExitOk = 0,
  kExitBadInput = 1,       // cannot read, parse, verify; a pass or the compiler refused
  kExitUsage = 2,          // unknown or contradictory flags
  kExitMismatch = 3,       // a comparison failed
  kExitRunFailure = 4,     // out of memory, a device or custom call failed
  kExitUnsupported = 5,    // valid HLO that this platform cannot handle yet
  kExitTimeLimit = 6,      // --time-limit is over
  kExitInternal = 70,      // a bug of ours
  kExitInterrupted = 130,  // SIGINT ended a measurement; what was measured is printed
};
// The exit code that says what went wrong: by status code.
int ExitCodeOf(const absl::Status& status);
// One more failure seen: an internal one wins, else the first.
int Worse(int exit_code, int other);

// The flow of every main(): installs the handlers above, adds --help and --version, parses, prints
// warnings, runs `body`, which returns the exit code.
int ToolMain(Flags& flags, int argc, char** argv, const std::function<int()>& body);

// Writes to standard output. False when nobody reads any more, or after an error, which is printed
// and makes the tool exit with 1.
bool WriteStdout(std::string_view text);
void WriteStderr(std::string_view text);
// A warning or a note: written unless `--quiet` was given.
void WriteNote(std::string_view text);
void SetQuiet(bool quiet);
// `status` with its places made part of the text, for a caller that has another Source in hand.
absl::Status WithPlacesInText(const absl::Status& status, const Source& source);
// Prints a failed status with the places of `source` (may be null) and returns its exit code.
int ReportError(const absl::Status& status, const Source* source = nullptr);
// As ReportError for errors without a place in a file: "hlo-opt: error: …".
int ReportToolError(std::string_view program, const absl::Status& status);

// An error with a suggestion unless `word`, the value of `--flag`, is one of `words`.
absl::Status OneOf(std::string_view flag, std::string_view word,
                   std::initializer_list<std::string_view> words);
absl::Status OneOf(std::string_view flag, std::string_view word,
                   const std::vector<std::string_view>& words);

// In single quotes, so that a shell takes it back as one word.
std::string SingleQuoted(std::string_view text);
// The word as a shell takes it back, quoted only where it must be.
std::string ShellQuoted(const std::string& word);

// One module text: a file, standard input for "-", or a part of one.
struct InputText {
  std::string path;                      // as given
  std::shared_ptr<const Source> source;  // line numbers are those of the file
};
// Reads a file, or the module of a folder of dumps (dump_folder.h); with `split` cut at `// -----`
// lines. Without it, such a line is an error.
absl::StatusOr<std::vector<InputText>> ReadInputs(const std::string& path, bool split);

// What the platforms and the interpreter run: an instruction has floats of one width, but for the
// few that convert (dot, convolution, …). The rules are the verifier's, and XLA's.
VerifierOptions Runnable();
// Parses and verifies.
absl::StatusOr<std::unique_ptr<Module>> LoadModule(const InputText& input,
                                                   const VerifierOptions& options = {});

// The print options of the tools: --print-style and a --print-… flag per option.
class PrintFlags {
 public:
  void AddTo(Flags& flags);
  // The options asked for. `to_file`: whole constants unless told otherwise, so that nothing gets
  // lost.
  absl::StatusOr<PrintOptions> Options(const Flags& flags, bool to_file) const;

  // The flags with what they do, one a line.
  static std::string Table();

  static constexpr size_t kMaxBools = 40;

 private:
  std::string style_ = "default";
  std::string subcomputations_;
  int64_t index_interval_ = 5;
  int64_t indent_ = 0;
  bool long_text_ = true;
  bool no_metadata_ = false;
  bool bools_[kMaxBools] = {};  // by row of the table
};

// The folder for reproducers: HLO_REPRO_DIR, TMPDIR or /tmp.
std::string ReproducerFolder();

}  // namespace hlo
