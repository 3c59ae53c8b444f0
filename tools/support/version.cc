#include "tools/support/version.h"

namespace hlo {

std::string_view ProgramVersion() { return HLO_VERSION; }

}  // namespace hlo
