#include "tools/support/version.h"

namespace hlo {

std::string_view ProgramVersion() { return HLO_VERSION; }

std::string_view XlaSyntaxDate() { return "2026-08"; }

}  // namespace hlo
