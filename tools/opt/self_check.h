// --self-test: whether an installed hlo-opt works, in a second and without files.
#pragma once

namespace hlo {

// Prints what was checked, or what is wrong; the exit code.
int SelfTest();

}  // namespace hlo
