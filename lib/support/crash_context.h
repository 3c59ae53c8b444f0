// What the program is doing, for the message of a crash. Each thread keeps a stack of lines; the
// handlers of signals, failed checks, time limits and out-of-memory print them, innermost first.
//
//   const CrashLine line("running pass", pass_name);              // "  while running pass `dce`"
//
// What is costly to say is said by a function, which is called only when something has crashed:
//
//   const CrashLine line(DescribeKernel, &kernel);                // void(const void*, CrashWriter&)
//
// A line costs three writes to memory. Its words must live as long as it does. Threads of a
// ThreadPool have the lines of the thread whose region they work on.
//
// A crash may happen anywhere, also inside malloc: what runs here allocates nothing
// and takes no lock.
#pragma once

#include <cstdint>
#include <string_view>

namespace hlo {

// The signal that ended the program, and where; empty for failed checks and the like.
struct CrashInfo {
  int signal = 0;
  const void* address = nullptr;  // of the access
  const void* pc = nullptr;       // the instruction, if it is known
};

// Writes to standard error without allocating.
class CrashWriter {
 public:
  explicit CrashWriter(const CrashInfo& info) : info_(info) {}
  ~CrashWriter() { Flush(); }
  CrashWriter(const CrashWriter&) = delete;
  CrashWriter& operator=(const CrashWriter&) = delete;

  CrashWriter& Text(std::string_view text);
  CrashWriter& Number(int64_t number);
  CrashWriter& Hex(uint64_t number);
  void Flush();
  const CrashInfo& info() const { return info_; }

 private:
  CrashInfo info_;
  char buffer_[512];
  size_t size_ = 0;
};

class CrashLine {
 public:
  // Writes whole lines, which begin with two blanks.
  using Writer = void (*)(const void* context, CrashWriter& out);

  // "  while WHAT `NAME`", or "  while WHAT" when there is no name.
  explicit CrashLine(std::string_view what, std::string_view name = {});
  CrashLine(Writer writer, const void* context);
  ~CrashLine();
  CrashLine(const CrashLine&) = delete;
  CrashLine& operator=(const CrashLine&) = delete;

  // Of this thread; null: none.
  static const CrashLine* Innermost();
  // The lines of this thread from `innermost` outwards.
  static void WriteAll(CrashWriter& out);

 private:
  friend class CrashLinesOfOther;
  const CrashLine* outer_;
  Writer writer_ = nullptr;
  const void* context_ = nullptr;
  std::string_view what_, name_;
};

// While it lives, this thread has the lines of another one, which waits for it.
class CrashLinesOfOther {
 public:
  explicit CrashLinesOfOther(const CrashLine* innermost);
  ~CrashLinesOfOther();
  CrashLinesOfOther(const CrashLinesOfOther&) = delete;
  CrashLinesOfOther& operator=(const CrashLinesOfOther&) = delete;

 private:
  const CrashLine* saved_;
};

// What is to be done after the lines of a crash are written, such as writing a reproducer. Belongs
// to the whole process; of several, the newest.
class CrashAction {
 public:
  using Act = void (*)(const void* context, CrashWriter& out);

  CrashAction(Act act, const void* context);
  ~CrashAction();
  CrashAction(const CrashAction&) = delete;
  CrashAction& operator=(const CrashAction&) = delete;

 private:
  friend void ReportCrash(std::string_view what, const CrashInfo& info);
  CrashAction* outer_;
  Act act_;
  const void* context_;
};

// Writes `what` happened and the lines of this thread, and then acts. For handlers, which end the
// process afterwards. Only the first crash is reported: another thread that crashes meanwhile waits
// for ever, a crash of the reporting itself ends it.
void ReportCrash(std::string_view what, const CrashInfo& info);

// Memory on which this thread can handle the overflow of its stack. The main thread's
// is the tools'.
class CrashStack {
 public:
  CrashStack();
  ~CrashStack();
  CrashStack(const CrashStack&) = delete;
  CrashStack& operator=(const CrashStack&) = delete;

 private:
  void* memory_ = nullptr;
};

}  // namespace hlo
