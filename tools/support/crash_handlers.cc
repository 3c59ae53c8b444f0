#include "tools/support/crash_handlers.h"

#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "lib/support/check.h"
#include "lib/support/crash_context.h"
#include "lib/support/crash_limit.h"
#include "tools/support/tool_support.h"

namespace hlo {
namespace {

char program_name[32] = "hlo";

bool KeepsSignals() {
  const char* value = std::getenv("HLO_ABORT");
  return value != nullptr && std::strcmp(value, "") != 0 && std::strcmp(value, "0") != 0;
}

void OnCheckFailed() {
  ReportCrash("", {});
  if (!KeepsSignals()) _exit(kExitInternal);
}

struct SignalWords {
  int signal;
  const char* text;
};
constexpr SignalWords kSignals[] = {
    {SIGSEGV, "invalid memory access or stack overflow"},
    {SIGBUS, "bus error"},
    {SIGFPE, "arithmetic trap"},
    {SIGILL, "illegal instruction"},
    {SIGABRT, "abort"},
};

// The start of a message; handlers may not allocate.
class CrashMessage {
 public:
  CrashMessage& operator<<(const char* text) {
    while (*text != 0 && size_ + 1 < sizeof text_) text_[size_++] = *text++;
    return *this;
  }
  operator std::string_view() const { return {text_, size_}; }

 private:
  char text_[512];
  size_t size_ = 0;
};

const void* ProgramCounter(const void* context) {
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#else
  static_cast<void>(context);
  return nullptr;
#endif
}

void OnCrash(int signal, siginfo_t* info, void* context) {
  const char* what = "signal";
  for (const SignalWords& words : kSignals) {
    if (words.signal == signal) what = words.text;
  }
  CrashMessage message;
  message << "internal error: the program crashed (" << what << "); HLO_ABORT=1 keeps the signal\n";
  ReportCrash(message, {signal, info->si_addr, ProgramCounter(context)});
  _exit(kExitInternal);
}

void OnOutOfMemory() {
  CrashMessage message;
  message << program_name << ": error: out of memory\n";
  ReportLimit(message);
  _exit(kExitRunFailure);
}

[[noreturn]] void OnTerminate() {
  CrashMessage message;
  message << "internal error: uncaught exception";
  if (const std::exception_ptr current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::exception& e) {
      message << ": " << e.what();
    } catch (...) {
      message << " of an unknown type";
    }
  }
  message << "\n";
  ReportCrash(message, {});
  if (KeepsSignals()) std::abort();
  _exit(kExitInternal);
}

}  // namespace

void InstallCrashHandlers(std::string_view program) {
  program_name[program.copy(program_name, sizeof program_name - 1)] = 0;
  std::signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(OnOutOfMemory);
  std::set_terminate(OnTerminate);
  SetCheckHandler(OnCheckFailed);
  if (KeepsSignals()) return;
  static const CrashStack stack;
  struct sigaction action = {};
  action.sa_sigaction = OnCrash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_NODEFER | SA_SIGINFO);
  for (const SignalWords& words : kSignals) sigaction(words.signal, &action, nullptr);
}

}  // namespace hlo
