// lib/types/format_float.h
//
// Floats as text with printf's %.<digits>g, byte for byte, but several times faster for the usual
// magnitudes.
#pragma once

#include <string>

namespace hlo {

// The text of printf("%.*g", digits, value) for a finite value and 1 <= digits <= 17.
void AppendGeneral(double value, int digits, std::string& out);

// A finite f32 with 6 digits if these read back to the same value, else with 9.
void AppendRoundTrip(float value, std::string& out);
// A finite f64 with 15 digits if these read back to the same value, else with 17.
void AppendRoundTrip(double value, std::string& out);

}  // namespace hlo
