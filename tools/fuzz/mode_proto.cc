// The check of `--mode=proto`: bytes of messages never break the reader, and a module that is
// written as a message reads back as the same text.
#include "lib/ir/printer.h"
#include "lib/ir/verifier.h"
#include "lib/proto/proto.h"
#include "lib/support/status.h"
#include "lib/support/strings.h"
#include "parser/parser.h"
#include "tools/fuzz/fuzz_mode.h"

namespace hlo {

std::string CheckProto(std::string_view input) {
  std::string text(input);
  if (IsSerialized(input)) {
    absl::StatusOr<std::string> printed = TextOfSerialized(input);
    if (!printed.ok()) return "";
    text = *std::move(printed);
  }
  const absl::StatusOr<std::unique_ptr<Module>> module = ParseModule(text);
  if (!module.ok() || !Verify(**module).ok()) return "";
  const absl::StatusOr<std::string> bytes = Serialize(**module, SerialForm::kBinary, kParseText);
  if (!bytes.ok()) return "";
  const absl::StatusOr<std::string> again = TextOfSerialized(*bytes);
  if (!again.ok())
    return "message does not read back: " + std::string(ToStd(again.status().message()));
  const absl::StatusOr<std::unique_ptr<Module>> second = ParseModule(*again);
  if (!second.ok())
    return "text of the message does not parse: " + std::string(ToStd(second.status().message()));
  return "";
}

}  // namespace hlo
