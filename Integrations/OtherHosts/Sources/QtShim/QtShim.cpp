#include "QtShim.h"

#include <QCoreApplication>
#include <QSocketNotifier>
#include <QTimer>

void qt_run(int descriptor, int (*pass)(void), void (*timeout)(void)) {
    int count = 1;
    char name[] = "QtHost";
    char *arguments[] = {name, nullptr};
    QCoreApplication application(count, arguments);
    QTimer::singleShot(5, timeout);

    QSocketNotifier notifier(descriptor, QSocketNotifier::Read);
    QObject::connect(&notifier, &QSocketNotifier::activated, [pass] {
        if (!pass()) QCoreApplication::quit();
    });
    application.exec();
}
